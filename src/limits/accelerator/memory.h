// Bandwidths of a device's memories, by kernels of ours (kernels/memory.cu) and the driver's own copy. Private to limits/accelerator.
//
// Convention of bytes: those that the program reads and writes, each once; a copy counts both.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/device.h"
#include "limits/accelerator/device_measurement.h"
#include "limits/metric.h"

namespace ridge::limits::accelerator {

// How many bytes are gone through to measure a level; 0: the level cannot be told apart.
int64_t dram_bytes(const gpu::DeviceFacts& facts);   // of one buffer; far more than the last cache
int64_t cache_bytes(const gpu::DeviceFacts& facts);  // half of the last cache

std::vector<MetricOf<BandwidthRow>> memory_metrics(const gpu::Device& device);

}  // namespace ridge::limits::accelerator
