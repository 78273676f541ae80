// For tests: a device of this machine (pocl) that says it is small, so that everything runs at once and in little memory.
#pragma once

#include "gpu/device.h"

namespace ridge::limits::accelerator {

// 8 MiB buffers, 64 KiB of "cache".
inline Result<gpu::Device> small_opencl_device() {
  RIDGE_ASSIGN(gpu::Device device, gpu::open_device("opencl:0"));
  device.facts.memory_bytes = 64 << 20;
  device.facts.last_cache_bytes = 128 << 10;
  return device;
}

}  // namespace ridge::limits::accelerator
