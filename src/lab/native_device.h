// The CPU as a lab device: variants are functions of this program, run on one thread.
#pragma once

#include "lab/device.h"

namespace ridge::lab {

Result<Device> open_native_device();

}  // namespace ridge::lab
