// Decides when to stop repeating a measurement: runs of a model, rounds of an interleaved benchmark. It stops at a
// narrow enough confidence interval, a number of samples, or the end of the time.
//
// Pure: takes numbers, reads no clock. Checking the interval too often would stop at a lucky moment, so the rule checks
// only each time the number of samples has grown by a tenth. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

#include "base/clock.h"

namespace ridge::measure {

struct StopOptions {
  double half_width_percent = 2;  // of what is estimated; 0 = the interval ends nothing
  double confidence = 0.95;       // of the interval
  int64_t min_samples = 20;       // before the interval may end it
  int64_t sure_samples = 0;       // even if the time is over
  int64_t max_samples = std::numeric_limits<int64_t>::max();
  Nanoseconds min_time = std::chrono::milliseconds(500);  // before the interval may end it
  Nanoseconds max_time = std::chrono::seconds(20);
};

enum class Verdict { kContinue, kConverged, kSpent };

class StopRule {
 public:
  explicit StopRule(StopOptions options) : options_(options) {}

  // After `samples` of them and `elapsed`. `half_width_percent` is called only when the rule checks.
  Verdict verdict(int64_t samples, Nanoseconds elapsed, const std::function<double()>& half_width_percent);

 private:
  StopOptions options_;
  int64_t next_look_ = 0;
  bool converged_ = false;
};

}  // namespace ridge::measure
