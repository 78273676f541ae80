// How fast bytes go between the host and a device, and what it costs to start something there. Private to limits/accelerator.
#pragma once

#include <cstdint>
#include <vector>

#include "limits/accelerator/accelerator.h"
#include "limits/accelerator/device_measurement.h"
#include "limits/metric.h"

namespace ridge::limits::accelerator {

int64_t link_bytes(const Facts& facts);
std::vector<MetricOf<LinkRow>> link_metrics(Accelerator& accelerator);
std::vector<MetricOf<StartRow>> start_metrics(Accelerator& accelerator);

}  // namespace ridge::limits::accelerator
