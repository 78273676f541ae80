// A Plan's decisions as properties of OpenVINO's device that it names. docs/contracts.md lists them.
#pragma once

#include <openvino/core/any.hpp>

#include "base/result.h"
#include "plan/plan.h"

namespace ridge::engine::openvino::plugin {

// kUnsupported: the plan sets something without a counterpart in OpenVINO that would change the measurement.
Result<ov::AnyMap> properties_of(const plan::Plan& plan);

// Whether sessions of equal plans run on one compiled model (option ridge.shared_streams).
bool shares(const plan::Plan& plan);

}  // namespace ridge::engine::openvino::plugin
