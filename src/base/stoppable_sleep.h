// A sleep of a thread that is asked to stop by a token: what it does again and again needs no clock of its own.
#pragma once

#include <stop_token>

#include "base/clock.h"

namespace ridge {

// Sleeps for real until `due`; false, and at once, if a stop is requested.
bool sleep_until(TimePoint due, const std::stop_token& stop);

}  // namespace ridge
