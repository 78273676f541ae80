// Why a GPU that a plan asks for cannot be used by ONNX Runtime, in words that name what is missing, the row of the version
// matrix (catalogue/compatibility.h) that fits, and what to do. Pure: facts in, message out.
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
  std::string capability;  // "8.0"; empty: not told
};

// What was found out when the GPU could not be used.
struct GpuFacts {
  std::string runtime;                // path of libonnxruntime
  std::string version;                // of it: "1.31.1"
  std::vector<std::string> compiled;  // providers that this build has
  std::string provider_library;       // path of the provider's own library
  std::vector<std::string> missing;   // of what that needs, what the loader does not find, in its order
  std::string engine_words;           // what ONNX Runtime said; empty: it was not asked
  std::optional<std::string> driver;  // its version
  std::string driver_reason;          // why that is not known
  std::vector<CudaGpu> gpus;          // that the driver has, by index
};

// kUnavailable, or kUnsupported where another build of ONNX Runtime is needed.
Error refusal(const plan::Device& device, const GpuFacts& facts);

}  // namespace ridge::engine::onnxruntime
