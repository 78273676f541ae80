#include "limits/pinned_bursts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "limits/peak_kernels.h"

namespace ridge::limits {
namespace {

constexpr int64_t kClockAdditions = 32 * 1024;  // about 8 µs
constexpr int kClockAttempts = 3;

struct WorkerBurst {
  TimePoint start, end;
  double clock_hz = 0;
};
using WorkerBursts = std::vector<WorkerBurst>;

// The clock while the kernel's effect on it (heat, licence for wide vectors) lasts: right after the burst.
double observe_clock() {
  double best_hz = 0;
  for (int attempt = 0; attempt < kClockAttempts; ++attempt) {
    TimePoint start = SteadyClock::now();
    if (!run_addition_chain(kClockAdditions)) return 0;
    best_hz = std::max(best_hz, static_cast<double>(kClockAdditions) / to_seconds(SteadyClock::now() - start));
  }
  return best_hz;
}

Burst together(const std::vector<WorkerBursts>& workers, size_t number, double units_of_worker) {
  TimePoint start = workers[0][number].start, end = workers[0][number].end;
  Burst burst;
  for (const WorkerBursts& bursts : workers) {
    start = std::min(start, bursts[number].start);
    end = std::max(end, bursts[number].end);
    burst.units += units_of_worker;
    burst.clock_hz += bursts[number].clock_hz / static_cast<double>(workers.size());
  }
  burst.seconds = to_seconds(end - start);
  return burst;
}

}  // namespace

RunBursts bursts_on(PinnedThreads& workers, int threads, PinnedKernel kernel) {
  return [&workers, threads, kernel = std::move(kernel)](int64_t repeats, int count) -> Result<std::vector<Burst>> {
    std::vector<WorkerBursts> seen(static_cast<size_t>(threads), WorkerBursts(static_cast<size_t>(count)));
    workers.run(threads, [&](PinnedThreads::Worker& worker) {
      kernel.work(worker, kernel.warm_up);
      for (WorkerBurst& burst : seen[static_cast<size_t>(worker.index())]) {
        worker.start_together();
        burst.start = SteadyClock::now();
        kernel.work(worker, repeats);
        burst.end = SteadyClock::now();
        burst.clock_hz = observe_clock();
      }
    });
    std::vector<Burst> bursts;
    for (size_t number = 0; number < static_cast<size_t>(count); ++number)
      bursts.push_back(together(seen, number, kernel.units_per_repeat * static_cast<double>(repeats)));
    return bursts;
  };
}

}  // namespace ridge::limits
