// A clock for tests: time advances only when every thread on it sleeps, and then jumps to the earliest wake-up time. So
// a test takes no time, and its measurements are exact.
//
// The clock's threads run one at a time: its creator, and those started with start(). One runs until it sleeps, joins
// or ends; then the one with the earliest wake-up time runs, of several the one that began to wait first. So the same
// program always runs in the same order. They must wait for each other by the clock alone: a thread that holds a mutex
// while it sleeps, or waits on a condition variable, stops the clock for good.
//
// Code that only looks at the time goes on, too, if every look takes some.
//
// Any other thread takes no turn. It may sleep, and wait on a condition variable by this clock (wait_until), and wakes
// when the time has come: a test awaits that it waits, and moves the time on with advance().
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"

namespace ridge {

class FakeClock final : public Clock {
 public:
  explicit FakeClock(Nanoseconds look_takes = {}) : look_takes_(look_takes), turn_of_(std::this_thread::get_id()) {}
  TimePoint now() const override;
  using Clock::sleep_until;
  void sleep_until(TimePoint due) override;
  void wait_until(ConditionVariable& changed, MutexLock& held, TimePoint due) override;
  // For a thread that has the turn: moves the time on, and wakes those that wait for a moment up to then.
  void advance(Nanoseconds duration) { sleep_for(duration); }
  // Returns when this many threads without a turn wait for exactly that moment (TimePoint::max(): on condition
  // variables, for no moment). Nothing must have notified them since.
  void await(TimePoint due, int threads = 1);
  std::jthread start(std::function<void()> body) override;
  void join(std::jthread& thread) override;

 private:
  struct Wait {
    ConditionVariable& changed;
    std::mutex& mutex;  // that goes with it
    TimePoint due;
    bool notifying = false;  // pass_on() uses it without the lock
  };
  uint64_t enqueue(TimePoint due) RIDGE_REQUIRES(mutex_);
  void pass_on(MutexLock& lock) RIDGE_REQUIRES(mutex_);
  void wait_for_turn(MutexLock& lock, uint64_t ticket) RIDGE_REQUIRES(mutex_);

  const Nanoseconds look_takes_;
  mutable Mutex mutex_;
  std::list<Wait> waits_ RIDGE_GUARDED_BY(mutex_);  // of threads without a turn
  ConditionVariable moved_on_;
  mutable TimePoint now_ RIDGE_GUARDED_BY(mutex_){std::chrono::hours(1)};
  std::set<std::pair<TimePoint, uint64_t>> waiting_ RIDGE_GUARDED_BY(mutex_);  // moment and ticket
  uint64_t last_ticket_ RIDGE_GUARDED_BY(mutex_) = 0;
  uint64_t called_ RIDGE_GUARDED_BY(mutex_) = 0;      // the ticket whose thread has the turn, or is about to take it
  std::thread::id turn_of_ RIDGE_GUARDED_BY(mutex_);  // the thread that runs
  std::map<std::thread::id, uint64_t> joiners_
      RIDGE_GUARDED_BY(mutex_);                               // the ticket of the thread that waits for this one's end
  std::set<std::thread::id> ended_ RIDGE_GUARDED_BY(mutex_);  // not joined yet
};

}  // namespace ridge
