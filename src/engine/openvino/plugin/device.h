// The plan's device as OpenVINO names it.
#pragma once

#include <string>

#include "base/result.h"

namespace ridge::engine::openvino::plugin {

// "cpu" → "CPU", "gpu:1" → "GPU.1". kUnsupported: a device of another engine. kUnavailable: OpenVINO finds no such GPU here; the
// message says what it finds and what it needs.
Result<std::string> device_of(const std::string& device);

}  // namespace ridge::engine::openvino::plugin
