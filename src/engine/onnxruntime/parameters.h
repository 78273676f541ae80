// The parameters of Triton's ONNX Runtime backend, in configurations with `backend: "onnxruntime"`.
#pragma once

#include <string>
#include <string_view>

#include "engine/engines.h"
#include "plan/plan.h"

namespace ridge::engine::onnxruntime {

// See Engine::parameters. Options are written under their own names, but for those of a GPU (accelerators.h).
Parameters parameters(const plan::Plan& plan);

// See Engine::read_parameter. Keys that begin as session options do become options of the plan.
Result<bool> read_parameter(const std::string& key, const std::string& value, plan::Plan& plan);

// See Engine::is_harmless.
bool is_harmless(std::string_view option);

}  // namespace ridge::engine::onnxruntime
