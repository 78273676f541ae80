// ONNX Runtime's providers for NVIDIA's GPUs: CUDA, and TensorRT before it. A GPU that cannot be used is an error that
// says why (gpu_error.h), never a run on the CPU.
#pragma once

#include <string>

#include "engine/onnxruntime/library.h"
#include "engine/onnxruntime/options.h"
#include "plan/device.h"

namespace ridge::engine::onnxruntime {

// ok if this build of ONNX Runtime has the provider of `device`, an NVIDIA GPU.
Status check_compiled(const Library& library, const plan::Device& device);

// Adds the providers of `device`, an NVIDIA GPU, with the options of the plan. `stream`: a CUstream for the model's
// work; null: one of ONNX Runtime's own.
Status append_gpu(const Library& library, OrtSessionOptions* options, const plan::Device& device,
                  const EngineOptions& engine, void* stream);

// `error` from creating a session on `device`, explained by the present state of driver, libraries and GPUs.
Error explain(const Library& library, const plan::Device& device, const Error& error);

}  // namespace ridge::engine::onnxruntime
