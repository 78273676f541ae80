// A CUDA GPU as a device of the lab.
#pragma once

#include <memory>

#include "lab/device.h"

namespace ridge::lab {

// Device `index` of the driver's. Errors: why there is none.
Result<std::unique_ptr<Device>> open_cuda_device(size_t index);

}  // namespace ridge::lab
