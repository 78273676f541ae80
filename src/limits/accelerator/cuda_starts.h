// What it costs to start kernels on an NVIDIA GPU: alone, queued, from stream to stream, in graphs.
#pragma once

#include <vector>

#include "base/result.h"
#include "gpu/cuda/workspace.h"
#include "limits/accelerator/accelerator.h"

namespace ridge::limits::accelerator {

Result<std::vector<Starting>> cuda_startings(gpu::cuda::CudaWorkspace workspace);

}  // namespace ridge::limits::accelerator
