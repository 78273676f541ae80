// A 95 % confidence interval. A side is absent where it is not known: of a high percentile, beyond all samples.
#pragma once

#include <optional>

#include "base/fields.h"

namespace ridge::measure {

struct Interval {
  std::optional<double> low = {}, high = {};
  bool empty() const { return !low && !high; }
  bool includes(double value) const {
    return !empty() && low.value_or(value) <= value && value <= high.value_or(value);
  }
};
// Multiplies the values by `factor` (above 0).
Interval scaled(const Interval& interval, double factor);
void visit_fields(auto& visit, Is<Interval> auto& interval) {
  visit("low", interval.low);
  visit("high", interval.high);
}

}  // namespace ridge::measure
