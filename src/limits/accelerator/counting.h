// Kernels that measure a rate of multiply-adds by counting them: chains of steps of which each adds a known number, so that what
// comes out says how many steps there were. Private to limits/accelerator.
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
// Enough threads to keep every unit busy, all of them resident at the same time, so that no second wave runs alone at the end.
std::vector<Layout> layouts(const gpu::DeviceFacts& facts);

// A kernel of the form (float* out, long* cycles, int rounds, …).
struct CountingKernel {
  std::string what;                    // "fp32 multiply-adds"
  std::string kernel;                  // its name in the program
  std::vector<gpu::Argument> further;  // arguments after rounds
  Layout layout;
  int64_t lanes = 1;  // floats that each thread puts out
  int64_t steps_per_round = 8;
  int64_t most_steps = 0;
  double flops_per_step = 0;                                      // of all threads
  std::function<double(int64_t thread, int64_t steps)> expected;  // what thread `thread` of a block puts out
  double tolerance = 0;                                           // relative
  bool counts_cycles = false;                                     // on the device: then the clock is known
};
Result<KernelVariant> counting_variant(const std::shared_ptr<gpu::Workspace>& workspace,
                                       const CountingKernel& counting);

}  // namespace ridge::limits::accelerator
