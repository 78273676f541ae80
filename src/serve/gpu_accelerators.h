// What a configuration says of how a GPU computes the model: optimization.execution_accelerators.gpu_execution_accelerator and
// the older parameters, with the names of Triton's ONNX Runtime backend → engine options of the plan.
#pragma once

#include <string>

#include "base/result.h"
#include "plan/plan.h"
#include "serve/config_text.h"

namespace ridge::serve {

// Of a plan for an NVIDIA GPU: its options, and TensorRT as its device where the accelerator "tensorrt" is asked for.
// kInvalid or kUnsupported: an accelerator or a value that is not known, which the error names.
Status read_gpu_accelerators(const inference::ModelConfig& config, plan::Plan& plan);

// Whether `key` is one of the backend's parameters for the CUDA provider. On the CPU they have no effect.
bool is_cuda_parameter(const std::string& key);
Status read_cuda_parameter(const std::string& key, const std::string& value, plan::Plan& plan);

}  // namespace ridge::serve
