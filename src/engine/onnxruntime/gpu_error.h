// Explains why ONNX Runtime cannot use the GPU of a plan: the problem, the matching row of the version matrix
// (catalogue/compatibility.h), and the remedy. Pure: facts in, message out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/onnxruntime/gpu_options.h"
#include "plan/device.h"

namespace ridge::engine::onnxruntime {

struct CudaGpu {
  std::string name;        // "NVIDIA A100-SXM4-80GB"
  std::string capability;  // "8.0"; empty: unknown
};

// The facts when the GPU could not be used.
struct GpuFacts {
  std::string runtime;                // path of libonnxruntime
  std::string version;                // of it: "1.31.1"
  std::vector<std::string> compiled;  // providers that this build has
  std::string provider_library;       // path of the provider's own library
  std::vector<std::string> missing;   // its dependencies that the loader does not find, in order
  std::string engine_words;           // ONNX Runtime's message; empty: it was not called
  std::optional<std::string> driver;  // its version
  std::string driver_reason;          // why that is not known
  std::vector<CudaGpu> gpus;          // that the driver has, by index
};

// Its code is kUnavailable, or kUnsupported where another build of ONNX Runtime is needed.
Error gpu_error(const plan::Device& device, const GpuFacts& facts);

}  // namespace ridge::engine::onnxruntime
