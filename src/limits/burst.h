// One kernel run in short bursts on several threads at once: the smallest step of measuring a limit.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "limits/pinned_threads.h"
#include "limits/rates.h"

namespace ridge::limits {

// Short, so that some bursts fit between two disturbances even on a busy machine; long against the time that threads take
// to start together (under 1 µs) and the clock's resolution.
constexpr double kBurstSeconds = 0.5e-3;

// Candidates for the same figure of a question compete; each figure has its own answer.
enum class Figure { kLimit, kPlainRead, kTriad };

// A kernel that may be the answer to a question, with what its bursts have shown so far.
struct Candidate {
  std::string kernel;
  std::function<void(PinnedThreads::Worker&, int64_t repeats)> work;
  double units_per_repeat = 0;  // FLOPs or bytes, per thread
  int64_t warm_up = 1;          // repeats before the first burst of a visit: fill the caches, or empty them of the past
  Figure figure = Figure::kLimit;
  int64_t working_set = 0;     // [bytes], all threads
  int64_t repeats = 0;         // in one burst; 0 = to be found so that it takes kBurstSeconds
  std::vector<double> rates;   // of every burst [units/s], all threads together
  std::vector<double> clocks;  // parallel to rates [Hz], mean of the threads; 0 = could not be observed
  bool sustained = false;      // the limit is a rate that lasts: see sustained_rate
  bool dropped = false;        // cannot win any more
  // Of the best burst; if sustained, see sustained_rate().
  double best_rate() const { return sustained ? sustained_rate(rates) : limits::best_rate(rates); }
  double typical_rate() const { return limits::typical_rate(rates); }
  double clock_hz() const { return clock_at(best_rate(), rates, clocks); }
  double spread_percent() const { return limits::spread_percent(rates); }
};

// kBurstsPerVisit bursts on the first `threads` members. The rate of a burst is all that was done over the time from the
// first member's start to the last one's end.
void visit(PinnedThreads& workers, int threads, Candidate& candidate);

}  // namespace ridge::limits
