// A clock for tests: time moves only when every thread that lives by it sleeps, and then at once to the next moment for which one
// of them waits. So a test takes no time, and what it measures is exact.
//
// The threads take turns: the one that made the clock, and those that it started with start(). One runs until it sleeps, joins or
// ends; then the one that waits for the earliest moment runs, of several the one that began to wait first. The same program
// therefore does the same things in the same order. They must wait for each other by the clock alone: a thread that holds a
// mutex while it sleeps, or waits on a condition variable, stops the clock for good. Any other thread may sleep too; it wakes
// when the time has come and takes no turn.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "base/clock.h"

namespace ridge {

class FakeClock final : public Clock {
 public:
  FakeClock() : turn_of_(std::this_thread::get_id()) {}
  TimePoint now() const override;
  using Clock::sleep_until;
  void sleep_until(TimePoint due) override;
  void advance(Nanoseconds duration) { sleep_for(duration); }
  std::jthread start(std::function<void()> body) override;
  void join(std::jthread& thread) override;

 private:
  using Lock = std::unique_lock<std::mutex>;
  uint64_t enqueue(TimePoint due);
  void pass_on();
  void wait_for_turn(Lock& lock, uint64_t ticket);

  mutable std::mutex mutex_;
  std::condition_variable moved_on_;
  // All guarded by mutex_.
  TimePoint now_{std::chrono::hours(1)};
  std::set<std::pair<TimePoint, uint64_t>> waiting_;  // moment and ticket
  uint64_t last_ticket_ = 0;
  uint64_t called_ = 0;                          // the ticket whose thread has the turn, or is about to take it
  std::thread::id turn_of_;                      // the thread that runs
  std::map<std::thread::id, uint64_t> joiners_;  // the ticket of the thread that waits for this one's end
  std::set<std::thread::id> ended_;              // not joined yet
};

}  // namespace ridge
