// Arrivals: how often requests came lately. Of the last sixteen gaps only, so that what was an hour ago counts for nothing once
// a new load has begun. One thread, or guarded by its owner.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/clock.h"

namespace ridge::serve {

class Arrivals {
 public:
  void record(TimePoint now) { times_[recorded_++ % times_.size()] = now; }
  TimePoint last() const { return recorded_ == 0 ? TimePoint{} : times_[(recorded_ - 1) % times_.size()]; }
  // Mean time from a request to the next; Nanoseconds::max(): fewer than two came.
  Nanoseconds gap() const {
    if (recorded_ < 2) return Nanoseconds::max();
    const size_t gaps = std::min(recorded_, times_.size()) - 1;
    return (last() - times_[(recorded_ - 1 - gaps) % times_.size()]) / static_cast<int64_t>(gaps);
  }

 private:
  std::array<TimePoint, 17> times_{};
  size_t recorded_ = 0;
};

}  // namespace ridge::serve
