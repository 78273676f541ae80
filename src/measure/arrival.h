// Arrival times of an open loop. Pure: the i-th intended time, from the start of the load.
#pragma once

#include <cstdint>
#include <random>

#include "base/clock.h"

namespace ridge::measure {

enum class Arrival {
  kConstant,  // every 1/rate
  kPoisson,   // independent users: exponential gaps with mean 1/rate
};

// One thread.
class ArrivalTimes {
 public:
  // `rate_per_s` > 0.
  ArrivalTimes(Arrival arrival, double rate_per_s, uint64_t seed);
  // The next intended time; the first is 0 (constant) or one gap (Poisson).
  Nanoseconds next();

 private:
  Arrival arrival_;
  double gap_s_;
  int64_t index_ = 0;
  double at_s_ = 0;
  std::mt19937_64 random_;
};

}  // namespace ridge::measure
