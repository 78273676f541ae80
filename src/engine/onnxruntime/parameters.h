// The parameters of Triton's ONNX Runtime backend, in configurations with `backend: "onnxruntime"`.
#pragma once

#include "engine/engines.h"
#include "plan/plan.h"

namespace ridge::engine::onnxruntime {

// See Engine::parameters. Options of the plan are written under their own names.
Parameters parameters(const plan::Plan& plan);

}  // namespace ridge::engine::onnxruntime
