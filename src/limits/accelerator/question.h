// A figure that is asked for, and the ways of answering it, which compete: the best one counts. Private to limits/accelerator. One
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "limits/accelerator/figure.h"

namespace ridge::limits::accelerator {

// Long against what a launch takes (10 µs; of pocl 50) and a device's clock resolves (1 µs).
constexpr double kBurstSeconds = 5e-3;

struct Burst {
  double units = 0;
  double seconds = 0;
  double clock_hz = 0;  // 0 = could not be observed
};

struct Window {
  TimePoint begin, end;
};

struct Candidate {
  std::string conditions;
  std::function<std::string()> how;  // what is known of it only when it has run; may be empty
  std::function<Result<Burst>(int64_t repeats)> work;
  // Compares what the last work left with what must be there: a compiler may have removed what is never read.
  std::function<Status()> check;
  int64_t most_repeats = INT64_MAX;            // in one burst
  int64_t repeats = 0;                         // 0 = to be found so that a burst takes kBurstSeconds
  std::vector<double> rates, clocks, seconds;  // of every burst
  std::vector<Window> windows;                 // likewise, by the host's clock
  bool dropped = false;
};

struct Question {
  bool sustained = false;  // see limits/rates.h
  std::vector<Candidate> candidates;
  std::string reason;  // why there are none

  double best_rate(const Candidate& candidate) const;
  const Candidate* winner() const;  // null: none has run
};

// One burst to find out how long the others must be, and a look at what it computed.
Status start(Candidate& candidate);
// kBurstsPerVisit bursts, then the check.
Status visit(Candidate& candidate);
// A way that failed does not compete; if it was the last, its error is the question's reason.
void visit_all(Question& question);
void drop_hopeless(Question& question);

// The winner's, without shares.
Figure answer(const Question& question);

}  // namespace ridge::limits::accelerator
