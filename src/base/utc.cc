#include "base/utc.h"

#include <array>
#include <chrono>
#include <ctime>

namespace ridge {

namespace {

std::string seconds_text(std::chrono::system_clock::time_point time) {
  const std::time_t now = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  return text.data();
}

}  // namespace

std::string now_in_utc() { return seconds_text(std::chrono::system_clock::now()) + "Z"; }

std::string utc_text(std::chrono::system_clock::time_point time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(time - whole).count();
  const std::string digits = std::to_string(1000 + rest).substr(1);
  return seconds_text(whole) + "." + digits + "Z";
}

int64_t now_in_ms_since_epoch() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace ridge
