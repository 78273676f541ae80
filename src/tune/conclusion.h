// States the outcome of a tuning run in sentences.
#pragma once

#include <string>

#include "tune/tuning.h"

namespace ridge::tune {

// "compute-bound, at 71 % of the limit".
std::string limit_sentence(const measure::Measurement& measured);
// "p99 ≤ 20.0 ms at 50 rows/s"; empty without limits.
std::string goal_text(const Goal& goal);

}  // namespace ridge::tune
