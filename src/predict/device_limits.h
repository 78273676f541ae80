// The limits of a planned device other than the CPU, whose are measured (limits/limits.h).
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "cost/gpu_limits.h"
#include "limits/nvidia_gpu.h"
#include "plan/device.h"

namespace ridge::predict {

// For an NVIDIA GPU in this machine: limits measured by `ridge bench device`, its datasheet's for the rest
// (cost/gpu_limits.h). FP32 counts at the peak of TF32 if that is higher and the engine may use it, as it does unless
// "cuda.use_tf32" is 0: a lower value is no limit. Errors: no such GPU, neither measured nor in the catalogue; another
// device.
Result<cost::DeviceLimits> limits_of(const plan::Device& device,
                                     const std::map<std::string, std::string>& engine_options);
// The same for a known GPU.
Result<cost::DeviceLimits> limits_of(const limits::NvidiaGpu& gpu,
                                     const std::map<std::string, std::string>& engine_options,
                                     cost::Accumulate accumulate = cost::Accumulate::kAny);

// Applies that rule alone. An A100 multiplies FP32 at 19.5 TFLOP/s and TF32 at 156 (datasheet): 156. If TF32's units
// have an unknown rate, so has FP32.
void allow_tf32(cost::DeviceLimits& limits);

}  // namespace ridge::predict
