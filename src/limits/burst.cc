#include "limits/burst.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "limits/peak_kernels.h"

namespace ridge::limits {
namespace {

constexpr int64_t kClockAdditions = 32 * 1024;  // about 8 µs
constexpr int kClockAttempts = 3;

struct Burst {
  TimePoint start, end;
  double clock_hz = 0;
};

double solo_seconds(PinnedThreads& workers, const Candidate& candidate, int64_t repeats) {
  Nanoseconds shortest = Nanoseconds::max();
  workers.run(1, [&](PinnedThreads::Worker& member) {
    for (int attempt = 0; attempt < 3; ++attempt) {
      TimePoint start = SteadyClock::now();
      candidate.work(member, repeats);
      shortest = std::min<Nanoseconds>(shortest, SteadyClock::now() - start);
    }
  });
  return std::max(1e-9, to_seconds(shortest));
}

int64_t calibrate(PinnedThreads& workers, const Candidate& candidate) {
  int64_t repeats = 1;
  double seconds = solo_seconds(workers, candidate, repeats);
  while (seconds < kBurstSeconds / 8) {
    repeats *= 4;
    seconds = solo_seconds(workers, candidate, repeats);
  }
  return std::max<int64_t>(1, std::llround(static_cast<double>(repeats) * kBurstSeconds / seconds));
}

// The clock while the kernel's effect on it (heat, licence for wide vectors) still lasts: right after the burst.
double observe_clock() {
  double best_hz = 0;
  for (int attempt = 0; attempt < kClockAttempts; ++attempt) {
    TimePoint start = SteadyClock::now();
    if (!run_addition_chain(kClockAdditions)) return 0;
    best_hz = std::max(best_hz, static_cast<double>(kClockAdditions) / to_seconds(SteadyClock::now() - start));
  }
  return best_hz;
}

void record(Candidate& candidate, const std::vector<std::vector<Burst>>& members, size_t number) {
  TimePoint start = members[0][number].start, end = members[0][number].end;
  double clock_hz = 0;
  auto threads = static_cast<double>(members.size());
  for (const std::vector<Burst>& bursts : members) {
    start = std::min(start, bursts[number].start);
    end = std::max(end, bursts[number].end);
    clock_hz += bursts[number].clock_hz / threads;
  }
  double units = candidate.units_per_repeat * static_cast<double>(candidate.repeats) * threads;
  candidate.rates.push_back(units / to_seconds(end - start));
  candidate.clocks.push_back(clock_hz);
}

}  // namespace

void visit(PinnedThreads& workers, int threads, Candidate& candidate) {
  if (candidate.repeats == 0) candidate.repeats = calibrate(workers, candidate);
  std::vector<std::vector<Burst>> members(static_cast<size_t>(threads), std::vector<Burst>(kBurstsPerVisit));
  workers.run(threads, [&](PinnedThreads::Worker& member) {
    candidate.work(member, candidate.warm_up);
    for (Burst& burst : members[static_cast<size_t>(member.index())]) {
      member.start_together();
      burst.start = SteadyClock::now();
      candidate.work(member, candidate.repeats);
      burst.end = SteadyClock::now();
      burst.clock_hz = observe_clock();
    }
  });
  for (size_t number = 0; number < kBurstsPerVisit; ++number) record(candidate, members, number);
}

}  // namespace ridge::limits
