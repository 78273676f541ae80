// CudaRegion: a region in a GPU's memory, which another process of this machine has allocated and given out a handle for.
//
// Engines get their inputs from the CPU's memory, so tensors are copied from and to the GPU, on the thread that runs the
// batch; never on one that reads requests, but for BYTES. Thread-safe.
#pragma once

#include <memory>

#include "base/result.h"
#include "serve/region.h"

namespace ridge::serve {

// kUnsupported: no driver, no GPU, or none of that number; the error says what is missing.
Result<std::shared_ptr<Region>> open_cuda_region(const RegionRequest& request);

}  // namespace ridge::serve
