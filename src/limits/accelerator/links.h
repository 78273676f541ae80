// The transfer rate between the host and a device, and the cost of starting work there. Private to limits/accelerator.
#pragma once

#include <vector>

#include "gpu/device.h"
#include "limits/accelerator/device_measurement.h"
#include "limits/metric.h"

namespace ridge::limits::accelerator {

std::vector<MetricOf<LinkRow>> link_metrics(const gpu::Device& device);
std::vector<MetricOf<StartRow>> start_metrics(const gpu::Device& device);

}  // namespace ridge::limits::accelerator
