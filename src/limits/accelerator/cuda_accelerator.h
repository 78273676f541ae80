// NVIDIA's GPUs, by the driver, as accelerators.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "gpu/cuda/cuda.h"
#include "limits/accelerator/accelerator.h"

namespace ridge::limits::accelerator {

Facts facts_of(const gpu::cuda::CudaDevice& device, size_t index);
// Of every GPU of the driver's, with its version.
std::vector<Facts> facts_of(const gpu::cuda::Cuda& cuda);
// kNotFound: no such GPU; kUnavailable: it cannot be used, with the reason.
Status check_usable(const gpu::cuda::Cuda& cuda, size_t index);
// kNotFound: no driver, too; else as check_usable.
Result<std::unique_ptr<Accelerator>> open_cuda_accelerator(size_t index);

}  // namespace ridge::limits::accelerator
