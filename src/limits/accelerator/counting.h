// Kernels that measure a rate of multiply-adds by counting them: in a chain each step adds a known number, so the
// output shows the number of steps. Private to limits/accelerator.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "limits/accelerator/device_measurement.h"
#include "limits/metric.h"

namespace ridge::limits::accelerator {

// How kernels are laid out on a device.
struct Layout {
  size_t threads = 1, blocks = 1;
};
// Enough threads to keep every unit busy, all resident at the same time, so that no second wave runs alone at the end.
std::vector<Layout> layouts(const gpu::DeviceFacts& facts);

// A kernel of the form (float* out, long* cycles, int rounds, …).
struct CountingKernel {
  std::string what;                    // "fp32 multiply-adds"
  std::string kernel;                  // its name in the program
  std::vector<gpu::Argument> further;  // arguments after rounds
  Layout layout;
  int64_t lanes = 1;  // floats that each thread writes
  int64_t steps_per_round = 8;
  int64_t most_steps = 0;
  double flops_per_step = 0;                                      // of all threads
  std::function<double(int64_t thread, int64_t steps)> expected;  // output of thread `thread` of a block
  double tolerance = 0;                                           // relative
  bool counts_cycles = false;                                     // on the device: then the clock is known
};
// A variant of a kernel in the program `source` for each layout of the device.
Status add_counting_variants(const gpu::Device& device, const std::string& source,
                             const std::function<CountingKernel(const Layout&)>& kernel_for, Metric& metric);

}  // namespace ridge::limits::accelerator
