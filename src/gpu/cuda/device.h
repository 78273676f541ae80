// Reads the properties of a GPU; private to gpu/cuda/cuda*.cc.
#pragma once

#include "gpu/cuda/cuda.h"

namespace ridge::gpu::cuda {

// Device `index` of the driver's; a failure is its problem.
CudaDevice describe_device(const cuda::Library& library, int index);

}  // namespace ridge::gpu::cuda
