// A configuration's GPU settings: optimization.execution_accelerators.gpu_execution_accelerator and the older parameters, with
// the names of Triton's ONNX Runtime backend → engine options of the plan.
#pragma once

#include <string>

#include "base/result.h"
#include "plan/plan.h"
#include "serve/config_text.h"

namespace ridge::serve {

// For a plan for an NVIDIA GPU: its options, and TensorRT as its device if the accelerator "tensorrt" is requested. kInvalid or
// kUnsupported: an unknown accelerator or value, named in the error.
Status read_gpu_accelerators(const inference::ModelConfig& config, plan::Plan& plan);

// Whether `key` is one of the backend's parameters for the CUDA provider. On the CPU they have no effect.
bool is_cuda_parameter(const std::string& key);
Status read_cuda_parameter(const std::string& key, const std::string& value, plan::Plan& plan);

}  // namespace ridge::serve
