#include "serve/deadline_timer.h"

#include <utility>

namespace ridge::serve {

DeadlineTimer::DeadlineTimer() : thread_([this] { run(); }) {}

DeadlineTimer::~DeadlineTimer() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
}

void DeadlineTimer::schedule(TimePoint when, std::weak_ptr<Expirable> target) {
  bool earliest = false;
  {
    MutexLock lock(mutex_);
    earliest = entries_.empty() || when < entries_.top().when;
    entries_.push({when, std::move(target)});
  }
  if (earliest) changed_.notify_one();
}

void DeadlineTimer::run() {
  MutexLock lock(mutex_);
  while (!stop_) {
    if (entries_.empty()) {
      changed_.wait(lock);
      continue;
    }
    TimePoint now = SteadyClock::now();
    TimePoint when = entries_.top().when;  // a copy: the heap may change during the wait
    if (now < when) {
      changed_.wait_until(lock, when);
      continue;
    }
    std::weak_ptr<Expirable> target = entries_.top().target;
    entries_.pop();
    lock.unlock();
    if (auto alive = target.lock()) alive->expire(now);
    lock.lock();
  }
}

}  // namespace ridge::serve
