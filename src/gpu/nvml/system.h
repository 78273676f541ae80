// NVML beyond a GPU's state: how GPUs are connected on the bus, and the slices (MIG) of one. Private to gpu/.
#pragma once

#include <vector>

#include "gpu/gpu.h"
#include "gpu/nvml/library.h"

namespace ridge::gpu::nvml {

// Name of nvmlDeviceArchitecture_t: 9 → "Hopper".
Reading<std::string> architecture_name(const Reading<int64_t>& number);

std::vector<GpuSlice> slices_of(const Library& library, Device gpu);
// Links of each two of `count` GPUs; empty if the library is too old.
std::vector<GpuPair> pairs_of(const Library& library, int count);

}  // namespace ridge::gpu::nvml
