// Reads what a GPU is; private to gpu/cuda/cuda*.cc.
#pragma once

#include "gpu/cuda/cuda.h"

namespace ridge::gpu::cuda {

// Device `index` of the driver's; what goes wrong is its problem.
CudaDevice describe_device(const cuda::Library& library, int index);

}  // namespace ridge::gpu::cuda
