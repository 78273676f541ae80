// ridge bench device as text: --device opencl:N|cuda:N, and --device cuda:0,cuda:1 | cuda:all.
#pragma once

#include <string>

#include "limits/accelerator/collectives.h"
#include "limits/accelerator/device_measurement.h"

namespace ridge::cli {

std::string accelerator_text(const limits::accelerator::DeviceMeasurement& measured);
std::string collectives_text(const limits::accelerator::CollectivesMeasurement& measured);

}  // namespace ridge::cli
