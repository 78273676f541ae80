// The parameters of Triton's OpenVINO backend, as a configuration with `backend: "openvino"` gives them.
#pragma once

#include <string>

#include "base/result.h"
#include "plan/plan.h"

namespace ridge::serve {

// Whether `key` is one of them.
bool is_openvino_parameter(const std::string& key);

// kInvalid: a wrong value. kUnsupported: something that this engine cannot be told here.
Status read_openvino_parameter(const std::string& key, const std::string& value, plan::Plan& plan);

}  // namespace ridge::serve
