// Peaks by our own kernels on the plain lanes: multiply-adds in registers (kernels/multiply_adds.cu). Private to
// limits/accelerator.
#pragma once

#include <string>
#include <vector>

#include "gpu/device.h"
#include "limits/accelerator/counting.h"

namespace ridge::limits::accelerator {

// A type whose rate of multiply-adds is measured.
struct LaneType {
  Precision precision = Precision::kFp32;
  std::string definitions;    // macros before the kernels
  int64_t lanes = 1;          // values per multiply-add; floats that a thread writes
  double flops_per_step = 2;  // of all lanes
  std::string reason;         // why this device does not support it; empty: it does
};

// All measured types, whether or not the device supports them.
std::vector<LaneType> lane_types(const gpu::DeviceFacts& facts);

// The expected output of thread `thread` of a block after `steps` steps of each chain.
double expected_count(Precision precision, int64_t thread, int64_t steps);

// FLOPs of one step of every chain of every thread: threads · chains · FLOPs per multiply-add.
double flops_of_step(const Layout& layout, double flops_per_step);

std::vector<MetricOf<PeakRow>> multiply_add_metrics(const gpu::Device& device);

}  // namespace ridge::limits::accelerator
