#include "serve/deadline_timer.h"

#include <new>
#include <utility>

namespace ridge::serve {
namespace {

constexpr std::chrono::milliseconds kAgain{50};  // after memory ran out

}  // namespace

DeadlineTimer::DeadlineTimer(Clock& clock) : clock_(clock), thread_([this] { run(); }) {}

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
    const TimePoint now = clock_.now();
    const TimePoint when = entries_.empty() ? TimePoint::max() : entries_.top().when;
    if (now < when) {
      clock_.wait_until(changed_, lock, when);
      continue;
    }
    std::weak_ptr<Expirable> target = entries_.top().target;
    entries_.pop();
    lock.unlock();
    bool done = true;
    try {
      if (auto alive = target.lock()) alive->expire(now);
    } catch (const std::bad_alloc&) {
      done = false;
    }
    lock.lock();
    if (!done) entries_.push({now + kAgain, std::move(target)});  // in the room that its entry had
  }
}

}  // namespace ridge::serve
