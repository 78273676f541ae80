// A sleep that ends early on a stop token, for periodic work that needs no clock of its own.
#pragma once

#include <stop_token>

#include "base/clock.h"

namespace ridge {

// Sleeps for real until `due`; false, and at once, if a stop is requested.
bool sleep_until(TimePoint due, const std::stop_token& stop);

}  // namespace ridge
