// Time as the product sees it: one monotonic clock, read in few places and passed as values to everything that decides.
#pragma once

#include <chrono>

namespace ridge {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Nanoseconds = std::chrono::nanoseconds;

inline double to_seconds(Nanoseconds duration) { return std::chrono::duration<double>(duration).count(); }
inline double to_ms(Nanoseconds duration) { return std::chrono::duration<double, std::milli>(duration).count(); }
inline Nanoseconds from_seconds(double seconds) {
  return std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(seconds));
}

}  // namespace ridge
