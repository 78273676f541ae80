// OpenCL devices as accelerators.
#pragma once

#include <memory>

#include "base/result.h"
#include "gpu/opencl.h"
#include "hw/accelerator/accelerator.h"

namespace ridge::hw::accelerator {

Facts facts_of(const gpu::OpenClDevice& device, size_t index);
// kNotFound: there is no such device.
Result<std::unique_ptr<Accelerator>> open_opencl_accelerator(size_t index);

}  // namespace ridge::hw::accelerator
