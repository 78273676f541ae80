// The limits of a device that a plan names, other than the processor, whose are measured (hw/limits.h).
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "cost/costs.h"
#include "plan/device.h"

namespace ridge::plan {

// Of a card of NVIDIA's that is in this machine: its datasheet's. FP32 counts at the peak of TF32 where that is higher and the
// engine may use it, as it does unless "cuda.use_tf32" is 0: nothing less would be a limit. Errors: no such card, or it is not in
// the catalogue; another device.
Result<cost::DeviceLimits> limits_of(const Device& device, const std::map<std::string, std::string>& engine_options);

// That rule by itself. An A100 multiplies FP32 at 19.5 TFLOP/s and TF32 at 156 (datasheet): 156.
void allow_tf32(cost::DeviceLimits& limits);

}  // namespace ridge::plan
