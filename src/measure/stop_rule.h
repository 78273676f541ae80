// Decides when enough has been measured: when the confidence interval of the mean is narrow enough, or time is up.
//
// Pure: fed with numbers, asks no clock. Looking again and again would stop at a lucky moment, so the rule looks only each
// time the number of samples has grown by a tenth, and not before `min_samples` and `min_time`. One thread.
#pragma once

#include <cstddef>
#include <vector>

#include "base/clock.h"

namespace ridge::measure {

struct StopOptions {
  double half_width_percent = 2;  // of the mean
  double confidence = 0.95;
  int64_t min_samples = 20;
  Nanoseconds min_time = std::chrono::milliseconds(500);
  Nanoseconds max_time = std::chrono::seconds(20);
};

enum class Verdict { kContinue, kConverged, kTimeOut };

class StopRule {
 public:
  explicit StopRule(StopOptions options) : options_(options) {}

  // A latency in the order of time.
  void add(double latency_ms) { samples_.push_back(latency_ms); }
  // After `elapsed` of sampling.
  Verdict verdict(Nanoseconds elapsed);

  // Half-width of the interval [% of the mean]; infinite for fewer than two samples.
  double half_width_percent() const;
  const std::vector<double>& samples() const { return samples_; }

 private:
  StopOptions options_;
  std::vector<double> samples_;
  size_t next_look_ = 0;
  bool converged_ = false;
};

}  // namespace ridge::measure
