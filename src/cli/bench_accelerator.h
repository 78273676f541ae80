// ridge bench device --device opencl:N|cuda:N as text.
#pragma once

#include <string>

#include "limits/accelerator/device_measurement.h"

namespace ridge::cli {

std::string accelerator_text(const limits::accelerator::DeviceMeasurement& measured);

}  // namespace ridge::cli
