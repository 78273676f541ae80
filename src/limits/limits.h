// Measures what the machine can do at best: peak arithmetic rate per precision and bandwidth per memory level, for one
// thread and for all usable ones.
//
// Method: every kernel of every question runs in short bursts (about 0.5 ms), round after round, so that each question is
// asked many times spread over the whole measurement; the best burst counts (of DRAM: the better half of the best eight in
// a row). A limit is what the hardware attains when nothing disturbs it, and disturbance only ever makes a burst slower.
// The spread over all bursts of the winning kernel is reported beside it: it tells how disturbed the machine was, not how
// wrong the limit is.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/machine.h"

namespace ridge::limits {

struct Limits {
  std::vector<machine::Peak> peaks;
  std::vector<machine::Bandwidth> bandwidths;
};

struct MeasureOptions {
  double most_seconds = 12;
  int least_rounds = 8;  // further rounds only while a figure still grows
  std::function<void(const std::string& step, double share_done)> progress;  // may be empty
};

// `machine` as probed: its ISA, caches, allowed cores and quota decide what is measured. Takes up to most_seconds.
Result<Limits> measure_limits(const machine::Machine& machine, const MeasureOptions& options);

// What is read to measure one level with `threads` threads, per thread; several sizes are tried where the level's true
// capacity is uncertain (a share of a virtual machine's L3).
struct WorkingSet {
  std::string level;
  int64_t bytes_per_thread = 0;
};
std::vector<WorkingSet> working_sets(const machine::Machine& machine, int threads);

}  // namespace ridge::limits
