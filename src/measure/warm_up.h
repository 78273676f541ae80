// Decides when a model has warmed up: caches filled, memory allocated, threads awake, clock settled.
//
// Pure: takes latencies, reads no clock. Steady means that the median of the newest window is no longer clearly below
// that of the previous window: runs have stopped getting faster. Slower counts as steady too. One thread.
#pragma once

#include <cstddef>
#include <vector>

#include "base/clock.h"

namespace ridge::measure {

struct WarmUpOptions {
  size_t window = 5;        // [runs]
  double tolerance = 0.02;  // share by which the newer median may be lower
  size_t min_runs = 10;
  Nanoseconds min_time = std::chrono::milliseconds(200);
  Nanoseconds max_time = std::chrono::seconds(10);  // give up after that: slow models have few first runs
};

class WarmUp {
 public:
  explicit WarmUp(WarmUpOptions options) : options_(options) {}
  void add(double latency_ms) { latencies_.push_back(latency_ms); }
  // After `elapsed` of warming up.
  bool steady(Nanoseconds elapsed) const;
  const std::vector<double>& latencies() const { return latencies_; }

 private:
  WarmUpOptions options_;
  std::vector<double> latencies_;
};

}  // namespace ridge::measure
