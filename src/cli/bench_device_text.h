// ridge bench device as text: --device opencl:N|cuda:N.
#pragma once

#include <string>

#include "limits/accelerator/device_measurement.h"

namespace ridge::cli {

std::string accelerator_text(const limits::accelerator::DeviceMeasurement& measured);

}  // namespace ridge::cli
