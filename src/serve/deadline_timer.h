// DeadlineTimer: one thread that calls back at given times, so that a queue timeout takes effect when it passes and not
// when a worker happens to check.
//
// Thread-safe. It never keeps its targets alive; a destroyed target is skipped.
#pragma once

#include <memory>
#include <queue>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace ridge::serve {

class Expirable {
 public:
  virtual ~Expirable() = default;
  // Called on the timer's thread, without its lock; may schedule() the next call.
  virtual void expire(TimePoint now) = 0;
};

class DeadlineTimer {
 public:
  explicit DeadlineTimer(Clock& clock);  // which outlives it
  ~DeadlineTimer();
  void schedule(TimePoint when, std::weak_ptr<Expirable> target);

 private:
  struct Entry {
    TimePoint when;
    std::weak_ptr<Expirable> target;
    bool operator>(const Entry& other) const { return when > other.when; }
  };
  void run();

  Clock& clock_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> entries_ RIDGE_GUARDED_BY(mutex_);
  bool stop_ RIDGE_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // last: starts after all other members
};

}  // namespace ridge::serve
