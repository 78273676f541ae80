// The device that a plan names, where an engine must run or fail. Plan::device holds the text of --device.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ridge::plan {

enum class DeviceKind {
  kCpu,       // "cpu"
  kCuda,      // "cuda:N": NVIDIA's GPU N as CUDA counts them, by ONNX Runtime's CUDA provider
  kTensorRt,  // "tensorrt:N": the same GPU by its TensorRT provider; the CUDA provider runs the rest
  kGpu,       // "gpu:N": Intel's GPU N as OpenVINO counts them
};

struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;
  bool operator==(const Device&) const = default;
};

// "cuda" is "cuda:0". kInvalid: another name, or an index outside 0 to 255.
Result<Device> device_from_name(std::string_view name);
std::string device_name(const Device& device);

// True for an NVIDIA GPU.
inline bool is_nvidia(const Device& device) {
  return device.kind == DeviceKind::kCuda || device.kind == DeviceKind::kTensorRt;
}

}  // namespace ridge::plan
