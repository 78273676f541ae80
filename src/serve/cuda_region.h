// CudaRegion: a region in a GPU's memory, allocated and exported by another process of this machine.
//
// Engines take their inputs from the CPU's memory, so tensors are copied from and to the GPU, on the thread that runs
// the batch; never on one that reads requests, except BYTES. Thread-safe.
#pragma once

#include <memory>

#include "base/result.h"
#include "serve/region.h"

namespace ridge::serve {

// kUnsupported: no driver, no GPU, or none of that number; the error names the missing part.
Result<std::shared_ptr<Region>> open_cuda_region(const RegionRequest& request);

}  // namespace ridge::serve
