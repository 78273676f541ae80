// Bandwidths of a device's memories, by our own kernels (kernels/memory.cu) and the driver's copy. Private to
// limits/accelerator.
//
// Convention of bytes: those that the program reads and writes, each once; a copy counts both.
#pragma once

#include <vector>

#include "gpu/device.h"
#include "limits/accelerator/device_measurement.h"
#include "limits/metric.h"

namespace ridge::limits::accelerator {

std::vector<MetricOf<BandwidthRow>> memory_metrics(const gpu::Device& device);

}  // namespace ridge::limits::accelerator
