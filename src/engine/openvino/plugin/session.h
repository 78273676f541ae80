// A Session on OpenVINO's CPU device, or on an Intel GPU (untested: no machine had one).
//
// Where the plan fixes all input shapes, the model is compiled for these, which is faster; the first run with others compiles
// it once more with dynamic dimensions.
#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"

namespace ridge::engine::openvino::plugin {

// `library`: path of libopenvino, for Info.
Result<std::unique_ptr<Session>> open_in_plugin(const plan::Plan& plan, const std::string& library);
std::string openvino_version();

}  // namespace ridge::engine::openvino::plugin
