// A plan as a function of the batch: parses a range of batches, and one point of the curve per forecast. Pure.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "predict/forecast.h"

namespace ridge::predict {

struct BatchRange {
  int64_t first = 1;
  int64_t last = 1;
  bool is_curve() const { return last > first; }
};

// "8" or "1..64". Errors: not a number, below 1, the end before the beginning.
Result<BatchRange> parse_batch_range(std::string_view text);

// The first, every power of two between, and the last.
std::vector<int64_t> batches_of(const BatchRange& range);

struct CurvePoint {
  int64_t batch = 1;
  double bound_ms = 0;
  cost::Limiter limiter = cost::Limiter::kUnknown;
  double throughput_per_s = 0;  // upper limit of rows per second
  double memory_bytes = 0;      // of inference: weights and live activations
  std::optional<bool> fits;     // in the device's memory; absent if unknown
  std::optional<double> estimate_ms;
  std::optional<double> estimate_slow_ms = {};  // of a device of the catalogue: the far end of the range
};
void visit_fields(auto& visit, Is<CurvePoint> auto& point) {
  visit("batch", point.batch, Figure().column("batch"));
  visit.or_null("bound_ms", point.bound_ms, Figure().column("bound"));
  visit.unless_empty("estimate_ms", point.estimate_ms, Figure().column("estimate"));
  visit("throughput_per_s", point.throughput_per_s, means("upper limit of rows").column("at most").in("rows/s"));
  visit("limiter", point.limiter, Figure().column("limiter").leaves(1));
  visit("memory_bytes", point.memory_bytes, Figure().column("memory").leaves(2));
  visit.unless_empty("fits", point.fits, Figure().column("fits"));
}

CurvePoint curve_point(const Forecast& forecast);

}  // namespace ridge::predict
