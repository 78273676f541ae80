#include "measure/arrival.h"

#include <cassert>
#include <cmath>

namespace ridge::measure {

ArrivalTimes::ArrivalTimes(Arrival arrival, double rate_per_s, uint64_t seed)
    : arrival_(arrival), gap_s_(1 / rate_per_s), random_(seed) {
  assert(rate_per_s > 0);
}

Nanoseconds ArrivalTimes::next() {
  if (arrival_ == Arrival::kConstant) return from_seconds(static_cast<double>(index_++) * gap_s_);
  // Inverse of the exponential distribution; 1 − u is in (0, 1]. Written out: a seed gives the same everywhere.
  double u = static_cast<double>(random_() >> 11) * 0x1.0p-53;
  at_s_ += -std::log1p(-u) * gap_s_;
  return from_seconds(at_s_);
}

}  // namespace ridge::measure
