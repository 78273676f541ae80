// The way between the host's memory and an NVIDIA GPU.
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"
#include "gpu/cuda/context.h"
#include "limits/accelerator/accelerator.h"

namespace ridge::limits::accelerator {

// Copies of `bytes`. Copies both ways go on two streams; of pageable memory, which the driver copies in the calling thread, in two
// threads.
Result<std::unique_ptr<Link>> open_cuda_link(const gpu::cuda::CudaContext& context, size_t bytes);

}  // namespace ridge::limits::accelerator
