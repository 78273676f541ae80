// What it costs to start kernels on an NVIDIA card: alone, queued, from stream to stream, in graphs.
#pragma once

#include <vector>

#include "base/result.h"
#include "gpu/cuda_workspace.h"
#include "hw/accelerator/accelerator.h"

namespace ridge::hw::accelerator {

Result<std::vector<Starting>> cuda_startings(gpu::CudaWorkspace workspace);

}  // namespace ridge::hw::accelerator
