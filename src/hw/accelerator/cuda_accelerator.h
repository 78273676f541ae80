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
// kNotFound: no driver, or no such card; kUnavailable: the card cannot be used, with the reason.
Result<std::unique_ptr<Accelerator>> open_cuda_accelerator(size_t index);

}  // namespace ridge::hw::accelerator
