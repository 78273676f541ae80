// Arrivals: how often requests came lately. Of the last sixteen gaps only, so that what was an hour ago counts for
// nothing once a new load has begun. One thread, or guarded by its owner.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <span>

#include "base/clock.h"

namespace ridge::serve {

class Arrivals {
 public:
  void record(TimePoint now) {
    if (recorded_ > 0) gaps_[(recorded_ - 1) % gaps_.size()] = now - last_;
    last_ = now;
    ++recorded_;
  }
  TimePoint last() const { return last_; }
  // The latest, in no order.
  std::span<const Nanoseconds> gaps() const {
    return std::span(gaps_).first(std::min(std::max<size_t>(recorded_, 1) - 1, gaps_.size()));
  }
  // Their mean; Nanoseconds::max(): fewer than two requests came.
  Nanoseconds gap() const {
    const std::span<const Nanoseconds> all = gaps();
    if (all.empty()) return Nanoseconds::max();
    return std::accumulate(all.begin(), all.end(), Nanoseconds(0)) / static_cast<int64_t>(all.size());
  }

 private:
  std::array<Nanoseconds, 16> gaps_{};
  TimePoint last_{};
  size_t recorded_ = 0;
};

}  // namespace ridge::serve
