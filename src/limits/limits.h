// Measures what the machine can do at best: peak arithmetic rate per precision and bandwidth per memory level, for one
// thread and for all usable ones.
//
// Method: limits/metric.h, with bursts of about 0.5 ms. A limit is what the hardware attains when nothing disturbs it, and
// disturbance only ever makes a burst slower; of DRAM the better half of the best eight bursts in a row counts. The spread over
// all bursts of the winning kernel is reported beside it: it tells how disturbed the machine was, not how wrong the limit is.
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
};

// Short bursts, so that some fit between two disturbances even on a busy machine; long against the time that threads take to start
// together (under 1 µs) and the clock's resolution.
inline RoundOptions cpu_rounds() {
  return {.most_seconds = 12, .least_rounds = 8, .burst_seconds = 0.5e-3, .interrupted = {}, .progress = {}};
}

// `machine` as probed: its ISA, caches, allowed cores and quota decide what is measured. Takes up to most_seconds.
Result<Limits> measure_limits(const machine::Machine& machine, const RoundOptions& options = cpu_rounds(),
                              const Clock& clock = system_clock());

// What is read to measure one level with `threads` threads, per thread; several sizes are tried where the level's true
// capacity is uncertain (a share of a virtual machine's L3).
struct WorkingSet {
  std::string level;
  int64_t bytes_per_thread = 0;
};
std::vector<WorkingSet> working_sets(const machine::Machine& machine, int threads);

}  // namespace ridge::limits
