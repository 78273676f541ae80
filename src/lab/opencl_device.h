// An OpenCL device as a device of the lab.
#pragma once

#include <memory>

#include "lab/device.h"

namespace ridge::lab {

// Device `index` of all that the loader knows. Errors: why there is none.
Result<std::unique_ptr<Device>> open_opencl_device(size_t index);

}  // namespace ridge::lab
