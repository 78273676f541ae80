#include "base/clock.h"

#include <algorithm>

namespace ridge {
namespace {

constexpr auto kLook = std::chrono::milliseconds(20);  // a thread that wakes takes a CPU from the others for some 50 µs

class SystemClock final : public Clock {
 public:
  TimePoint now() const override { return SteadyClock::now(); }
  void sleep_until(TimePoint due) override { std::this_thread::sleep_until(due); }
};

}  // namespace

bool Clock::sleep_until(TimePoint due, const std::function<bool()>& pointless) {
  while (!pointless()) {
    const TimePoint now = this->now();
    if (now >= due) return true;
    sleep_until(std::min(due, now + kLook));
  }
  return false;
}

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

}  // namespace ridge
