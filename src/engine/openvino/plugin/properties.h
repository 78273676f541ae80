// A Plan's decisions in OpenVINO's words: its device, and properties (docs/contracts.md lists them).
#pragma once

#include <openvino/core/any.hpp>
#include <string>

#include "base/result.h"
#include "plan/plan.h"

namespace ridge::engine::openvino::plugin {

// kUnsupported: the plan sets something without a counterpart in OpenVINO that would change the measurement.
Result<ov::AnyMap> properties_of(const plan::Plan& plan);

// True if sessions of equal plans run on one compiled model (option ridge.shared_streams).
bool shares(const plan::Plan& plan);

// "cpu" → "CPU", "gpu:1" → "GPU.1". kUnsupported: a device of another engine. kUnavailable: OpenVINO finds no such GPU
// here; the message says what it finds and what it needs.
Result<std::string> device_of(const std::string& device);

}  // namespace ridge::engine::openvino::plugin
