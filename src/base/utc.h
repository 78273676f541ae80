// The time of day, for people and files only; no decision depends on it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace ridge {

// Now, in UTC: "2026-11-21T13:05:00Z" (ISO 8601).
std::string now_in_utc();
int64_t now_in_ms_since_epoch();  // 1970
// Includes milliseconds: "2026-11-21T13:05:00.042Z".
std::string utc_text(std::chrono::system_clock::time_point time);

}  // namespace ridge
