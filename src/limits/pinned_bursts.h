// Bursts of a kernel on several CPUs at once: runs the variants of a CPU's metrics. Private to limits.
#pragma once

#include <cstdint>
#include <functional>

#include "limits/metric.h"
#include "limits/pinned_threads.h"

namespace ridge::limits {

struct PinnedKernel {
  std::function<void(PinnedThreads::Worker&, int64_t repeats)> work;
  double units_per_repeat = 0;  // FLOPs or bytes, per thread
  int64_t warm_up = 1;          // repeats before the first of several bursts: fill the caches, or evict old data
};

// On the first `threads` workers, which must outlive it. The rate of a burst is the total work over the time from the
// first worker's start to the last one's end; its clock the mean of the workers'.
RunBursts bursts_on(PinnedThreads& workers, int threads, PinnedKernel kernel);

}  // namespace ridge::limits
