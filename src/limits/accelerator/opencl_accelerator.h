// OpenCL devices as accelerators.
#pragma once

#include <memory>

#include "base/result.h"
#include "gpu/opencl/opencl.h"
#include "limits/accelerator/accelerator.h"

namespace ridge::limits::accelerator {

Facts facts_of(const gpu::opencl::OpenClDevice& device, size_t index);
// kNotFound: there is no such device.
Result<std::unique_ptr<Accelerator>> open_opencl_accelerator(size_t index);

}  // namespace ridge::limits::accelerator
