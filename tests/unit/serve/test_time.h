// Points in time for tests: microseconds after nothing.
#pragma once

#include <chrono>

#include "base/clock.h"

namespace ridge::serve {

inline TimePoint at(int64_t us) { return TimePoint(std::chrono::microseconds(us)); }

}  // namespace ridge::serve
