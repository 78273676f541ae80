// Options of ONNX Runtime's CUDA and TensorRT providers, as a plan gives them: "cuda.KEY=VALUE" and
// "tensorrt.KEY=VALUE", with ONNX Runtime's own keys and values. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "plan/device.h"

namespace ridge::engine::onnxruntime {

using ProviderOptions = std::map<std::string, std::string>;  // by ONNX Runtime's keys

constexpr std::string_view kCudaPrefix = "cuda.", kTensorRtPrefix = "tensorrt.";

enum class GpuProvider { kCuda, kTensorRt };
std::string_view provider_name(GpuProvider provider);  // "CUDAExecutionProvider"
// The option that selects the NVIDIA GPU.
inline GpuProvider provider_of(plan::DeviceKind kind) {
  return kind == plan::DeviceKind::kTensorRt ? GpuProvider::kTensorRt : GpuProvider::kCuda;
}

// ok if `value` is one that ONNX Runtime's documentation gives for `key`, or if the key is not documented: newer
// releases have more, and refuse unknown keys themselves. kInvalid: a wrong value, or a key that ridge itself sets.
Status check_provider_option(GpuProvider provider, const std::string& key, const std::string& value);

// True if that documented option takes a flag, a number or one of a few words.
bool takes_no_text(GpuProvider provider, std::string_view key);

}  // namespace ridge::engine::onnxruntime
