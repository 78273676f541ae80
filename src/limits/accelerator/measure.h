// Measures what a device can do at best, beside what it should: peaks per precision, bandwidth per level of memory, the way to the
// host and the cost of starting work; with clock, power and slowdowns seen meanwhile.
//
// Method as of the CPU (limits/limits.h): every way of every question runs in short bursts, round after round, until nothing
// grows any more or time is up; the best burst counts. What a kernel computes is checked after every visit.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "gpu/device.h"
#include "limits/accelerator/figure.h"

namespace ridge::limits::accelerator {

struct Options {
  double most_seconds = 20;  // of measuring; making ready comes on top
  int least_rounds = 5;
  std::string machine_cache;          // limits of this machine's CPU (limits/limits_store.h); empty: the default file
  std::function<bool()> interrupted;  // may be empty
  std::function<void(const std::string& step, double share_done)> progress;  // may be empty
};

// What a device cannot do is a row with the reason. Interrupted, it returns what was measured until then.
Result<Measured> measure(const gpu::Device& device, const Options& options);

}  // namespace ridge::limits::accelerator
