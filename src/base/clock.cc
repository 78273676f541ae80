#include "base/clock.h"

#include <algorithm>

namespace ridge {
namespace {

constexpr auto kLook = std::chrono::milliseconds(20);  // a waking thread takes a CPU from the others for some 50 µs

class SystemClock final : public Clock {
 public:
  TimePoint now() const override { return SteadyClock::now(); }
  void sleep_until(TimePoint due) override { std::this_thread::sleep_until(due); }
  void wait_until(ConditionVariable& changed, MutexLock& held, TimePoint due) override {
    if (due == TimePoint::max())
      changed.wait(held);  // without the cost of a timer
    else
      changed.wait_until(held, due);
  }
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

bool Clock::sleep_until(TimePoint due, const std::stop_token& stop) {
  Mutex mutex;
  ConditionVariable stopped;
  const std::stop_callback wake(stop, [&] {
    MutexLock lock(mutex);
    stopped.notify_all();
  });
  MutexLock lock(mutex);
  while (!stop.stop_requested() && now() < due) wait_until(stopped, lock, due);
  return !stop.stop_requested();
}

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

}  // namespace ridge
