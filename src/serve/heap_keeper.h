// HeapKeeper: gives memory that was freed back to the system, which malloc by itself keeps: two seconds after much was
// freed, at most once in ten seconds, on a thread of its own. Thread-safe.
#pragma once

#include <functional>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"

namespace ridge::serve {

class HeapKeeper {
 public:
  static void trim();  // malloc's
  // `clock` outlives it.
  explicit HeapKeeper(Clock& clock, std::function<void()> give_back = trim);
  ~HeapKeeper();
  // Much memory has been freed, or is about to be. Does not wait.
  void note();

 private:
  void run();

  Clock& clock_;
  const std::function<void()> give_back_;
  Mutex mutex_;
  ConditionVariable changed_;
  TimePoint due_ RIDGE_GUARDED_BY(mutex_) = TimePoint::max();
  TimePoint earliest_ RIDGE_GUARDED_BY(mutex_);  // after the last time
  bool stop_ RIDGE_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // last: starts after all other members
};

}  // namespace ridge::serve
