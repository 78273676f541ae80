// The parameters of Triton's OpenVINO backend, in configurations with `backend: "openvino"`.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/engines.h"
#include "plan/plan.h"

namespace ridge::engine::openvino {

// See Engine::read_parameter. kInvalid: a wrong value. kUnsupported: a setting that does not exist here.
Result<bool> read_parameter(const std::string& key, const std::string& value, plan::Plan& plan);

// See Engine::parameters. Settings that the backend lacks use ridge's names.
Parameters parameters(const plan::Plan& plan);

// See Engine::is_harmless.
bool is_harmless(std::string_view option);

// See Engine::model_server_text. One compiled model whose streams are the instances, with the threads of all of them
// (docs/parameters.md of openvinotoolkit/model_server).
std::string model_server_text(const std::string& name, const plan::Plan& plan);

}  // namespace ridge::engine::openvino
