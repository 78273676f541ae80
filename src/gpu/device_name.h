// What people call a device that runs kernels: "opencl:1", "cuda:0"; without a number the first. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace ridge::gpu {

struct DeviceName {
  std::string_view family;  // "cuda"; part of the given text
  size_t index = 0;
};
// Absent: not of that form. Which families there are is the caller's business.
std::optional<DeviceName> parse_device_name(std::string_view name);

// kNotFound: "there is no OpenCL device 3; there are 2". `kind`: "OpenCL".
Status check_device_index(size_t index, size_t count, std::string_view kind);

}  // namespace ridge::gpu
