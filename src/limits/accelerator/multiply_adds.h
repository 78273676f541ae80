// Peaks by kernels of ours on the plain lanes: multiply-adds in registers (kernels/multiply_adds.cu). Private to limits/accelerator.
#pragma once

#include <string>
#include <vector>

#include "gpu/device.h"
#include "limits/accelerator/counting.h"

namespace ridge::limits::accelerator {

// A type in which a device can be asked for its rate of multiply-adds.
struct LaneType {
  Precision precision = Precision::kFp32;
  std::string definitions;    // of kernels/type.cu
  int64_t lanes = 1;          // numbers that one multiply-add works on; floats that a thread puts out
  double flops_per_step = 2;  // of all lanes
  std::string reason;         // why this device does not compute in it; empty: it does
};

// Those that are asked for, whether or not the device has them.
std::vector<LaneType> lane_types(const gpu::DeviceFacts& facts);

// What thread `thread` of a block must put out after `steps` steps of each chain.
double expected_count(Precision precision, int64_t thread, int64_t steps);

// FLOPs of one step of every chain of every thread: threads · chains · FLOPs per multiply-add.
double flops_of_step(const Layout& layout, double flops_per_step);

std::vector<MetricOf<PeakRow>> multiply_add_metrics(const gpu::Device& device);

}  // namespace ridge::limits::accelerator
