// Counts into a Histogram. Counts are of each step alone here, and become cumulative in a copy.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "serve/service.h"

namespace ridge::serve {

inline Histogram empty_histogram(const std::vector<double>& bounds) {
  return {bounds, std::vector<uint64_t>(bounds.size(), 0), 0};
}

// `count` of that value. An infinite one is in the last step and not in the sum.
inline void add(Histogram& histogram, double value, uint64_t count = 1) {
  const auto bound = std::lower_bound(histogram.bounds_s.begin(), histogram.bounds_s.end(), value);
  histogram.counts[static_cast<size_t>(bound - histogram.bounds_s.begin())] += count;
  if (std::isfinite(value)) histogram.sum_s += static_cast<double>(count) * value;
}

inline void accumulate_counts(Histogram& histogram) {
  std::partial_sum(histogram.counts.begin(), histogram.counts.end(), histogram.counts.begin());
}

}  // namespace ridge::serve
