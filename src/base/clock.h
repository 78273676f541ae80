// Time as the product sees it: monotonic, in nanoseconds. Code that decides by time, or waits, takes a Clock and is
// tested with a FakeClock (base/fake_clock.h). Code that only takes timestamps on a hot path reads SteadyClock itself.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <thread>

#include "base/mutex.h"

namespace ridge {

using SteadyClock = std::chrono::steady_clock;
using TimePoint = SteadyClock::time_point;
using Nanoseconds = std::chrono::nanoseconds;

inline double to_seconds(Nanoseconds duration) { return std::chrono::duration<double>(duration).count(); }
inline double to_ms(Nanoseconds duration) { return std::chrono::duration<double, std::milli>(duration).count(); }
inline Nanoseconds from_seconds(double seconds) {
  return std::chrono::round<Nanoseconds>(std::chrono::duration<double>(seconds));
}

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
  virtual void sleep_until(TimePoint due) = 0;
  void sleep_for(Nanoseconds duration) { sleep_until(now() + duration); }
  // Sleeps until `due`, checking every 20 ms whether to give up; false if it did.
  bool sleep_until(TimePoint due, const std::function<bool()>& pointless);
  // Sleeps until `due`; false, and at once, if a stop is requested.
  bool sleep_until(TimePoint due, const std::stop_token& stop);
  // Waits until `changed` is notified, or `due` has come; TimePoint::max(): however long it takes. Now and then it
  // returns for no reason, as every wait does.
  virtual void wait_until(ConditionVariable& changed, MutexLock& held, TimePoint due) = 0;

  // Starts a thread that sleeps on this clock, and joins one. A fake clock moves on when all such threads sleep.
  virtual std::jthread start(std::function<void()> body) { return std::jthread(std::move(body)); }
  virtual void join(std::jthread& thread) { thread.join(); }
};

// SteadyClock and the system's sleep.
Clock& system_clock();

}  // namespace ridge
