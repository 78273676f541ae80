// Measures the machine's upper limits: peak arithmetic rate per precision and bandwidth per memory level, for one
// thread and for all usable ones.
//
// Method: limits/metric.h, with bursts of about 0.5 ms. A limit is the rate of undisturbed hardware, and disturbance
// only slows a burst down; for DRAM the better half of the best eight bursts in a row counts. The spread over all
// bursts of the winning kernel is reported beside it: it shows disturbance, not the error of the limit.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "limits/metric.h"
#include "machine/machine.h"

namespace ridge::limits {

struct Limits {
  std::vector<machine::Peak> peaks;
  std::vector<machine::Bandwidth> bandwidths;
  machine::Disturbance disturbance = {};  // while they were measured
};

// Short bursts, so that some fit between two disturbances even on a busy machine; long against the start-up skew of
// threads (under 1 µs) and the clock's resolution.
inline RoundOptions cpu_rounds() {
  return {.most_seconds = 12, .least_rounds = 8, .burst_seconds = 0.5e-3, .interrupted = {}, .progress = {}};
}

// `machine` as probed: its ISA, caches, allowed cores and quota decide what is measured. Takes up to most_seconds.
Result<Limits> measure_limits(const machine::Machine& machine, const RoundOptions& options = cpu_rounds(),
                              const Clock& clock = system_clock());

// Bytes read per thread to measure one level with `threads` threads; several sizes where the level's true capacity is
// uncertain (a share of a virtual machine's L3).
struct WorkingSet {
  std::string level;
  int64_t bytes_per_thread = 0;
};
std::vector<WorkingSet> working_sets(const machine::Machine& machine, int threads);

}  // namespace ridge::limits
