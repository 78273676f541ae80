// ServiceTimes: an instance's time for a batch, by its rows, in the latest batches. For predictions, not statistics.
//
// Each number of rows keeps its last 15 times, and answers with quantiles of them (nearest rank), not with a moving
// average: the runs of a neural network take nearly the same time, but for outliers that a busy machine adds (Gujarati
// et al., "Serving DNNs like Clockwork", OSDI 2020, whose controller predicts from recent runs too). One outlier
// changes no quantile below the highest; a lasting change is followed within half a window. Numbers of rows that did
// not run lately, while others did, are forgotten: what they took may hold no longer, and what is expected to take too
// long is not run, so it would never be measured again.
//
// One thread, or guarded by its owner.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "base/clock.h"

namespace ridge::serve {

class ServiceTimes {
 public:
  void record(int64_t rows, Nanoseconds time, TimePoint now);
  bool empty() const { return sizes_.empty(); }
  int64_t least_rows() const { return sizes_.begin()->first; }  // that were measured; not if empty()
  // Three of four batches take no longer. Rows that were not measured: interpolated between two measured numbers; fewer
  // than any: as the fewest; more: as the most, so that such batches run and are measured. 0: nothing is measured.
  Nanoseconds usual(int64_t rows) const { return at(rows, &Size::usual); }
  // The same of which all but the highest of the latest took no longer.
  Nanoseconds high(int64_t rows) const { return at(rows, &Size::high); }
  // Returns high(), or the least of the latest if that took less than a quarter: the data decide then how long a run
  // takes, and one that takes less is not refused for those before it.
  Nanoseconds expected(int64_t rows) const { return at(rows, &Size::expected); }

 private:
  static constexpr size_t kWindow = 15;
  struct Size {
    std::array<Nanoseconds, kWindow> times{};
    size_t recorded = 0;
    TimePoint last{};
    Nanoseconds usual{}, high{}, expected{};
  };
  Nanoseconds at(int64_t rows, Nanoseconds Size::*quantile) const;

  std::map<int64_t, Size> sizes_;  // by rows
};

}  // namespace ridge::serve
