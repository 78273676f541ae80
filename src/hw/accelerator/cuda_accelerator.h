// NVIDIA's cards, by the driver, as accelerators.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "gpu/cuda.h"
#include "hw/accelerator/accelerator.h"

namespace ridge::hw::accelerator {

Facts facts_of(const gpu::CudaDevice& device, size_t index);
// Of every card of the driver's, with its version.
std::vector<Facts> facts_of(const gpu::Cuda& cuda);
// kNotFound: no such card; kUnavailable: it cannot be used, with the reason.
Status check_usable(const gpu::Cuda& cuda, size_t index);
// kNotFound: no driver, too; else as check_usable.
Result<std::unique_ptr<Accelerator>> open_cuda_accelerator(size_t index);

}  // namespace ridge::hw::accelerator
