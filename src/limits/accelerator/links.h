// How fast bytes go between the host and a device, and what it costs to start something there. Private to limits/accelerator.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/device.h"
#include "limits/accelerator/device_measurement.h"
#include "limits/metric.h"

namespace ridge::limits::accelerator {

int64_t link_bytes(const gpu::DeviceFacts& facts);
std::vector<MetricOf<LinkRow>> link_metrics(const gpu::Device& device);
std::vector<MetricOf<StartRow>> start_metrics(const gpu::Device& device);

}  // namespace ridge::limits::accelerator
