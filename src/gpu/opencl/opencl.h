// OpenCL devices through the loader (libOpenCL.so.1), opened at run time: GPUs of AMD, Intel and others, and CPUs
// (pocl). Missing loader or devices are values with a reason.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/device.h"

namespace ridge::gpu::opencl {

// All devices of the loader, at least one. `library`: a path; empty: the environment variable RIDGE_OPENCL, else
// libOpenCL.so.1 by the loader's search. The error says if there is no loader (kNotFound), or no implementation or
// device behind it (kUnavailable).
Result<std::vector<Device>> devices(const std::string& library = "");

}  // namespace ridge::gpu::opencl
