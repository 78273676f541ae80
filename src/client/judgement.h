// Judges the points of a load: is a goal met, what limits, from where do more callers bring no more throughput? Pure.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "client/server_measurement.h"

namespace ridge::client {

// At most one request in a hundred later than `p99_ms` or failed, and the intended rate kept up. `latencies_ms` of the
// counted requests that succeeded.
struct Verdict {
  bool met = false;
  std::string
      why;  // if not: "p99 12 ms", "3.1 % of the requests failed", "782 requests/s of 1.00 k requests/s were answered"
};
Verdict judge(const Point& point, std::span<const double> latencies_ms, double p99_ms);

// Reason why a higher rate misses the goal: id and sentence, from the point at the lowest rate that failed.
struct LimitedBy {
  std::string id;
  std::string sentence;
};
LimitedBy limited_by(const Point& failed, const std::string& why);

// In closed loops: the fewest callers whose throughput is not shown to be more than 5 % below the highest one, by the
// two's 95 % intervals (by the values alone where there are none); none of fewer than two points.
const Point* knee(std::span<const Point> points);

}  // namespace ridge::client
