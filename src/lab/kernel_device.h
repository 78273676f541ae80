// CUDA GPUs and OpenCL devices as lab devices: variants are launches and steps.
#pragma once

#include <string_view>

#include "lab/device.h"

namespace ridge::lab {

// By a name of gpu::open_device.
Result<Device> open_kernel_device(std::string_view name);

}  // namespace ridge::lab
