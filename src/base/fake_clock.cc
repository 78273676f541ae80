#include "base/fake_clock.h"

#include <algorithm>

namespace ridge {

TimePoint FakeClock::now() const {
  MutexLock lock(mutex_);
  return now_;
}

void FakeClock::sleep_until(TimePoint due) {
  MutexLock lock(mutex_);
  if (turn_of_ != std::this_thread::get_id()) {
    while (now_ < due) moved_on_.wait(lock);
    return;
  }
  const uint64_t ticket = enqueue(due);
  pass_on();
  wait_for_turn(lock, ticket);
}

std::jthread FakeClock::start(std::function<void()> body) {
  MutexLock lock(mutex_);
  return std::jthread([this, ticket = enqueue(now_), body = std::move(body)] {
    {
      MutexLock own(mutex_);
      wait_for_turn(own, ticket);
    }
    body();
    MutexLock own(mutex_);
    const std::thread::id self = std::this_thread::get_id();
    if (const auto joiner = joiners_.find(self); joiner != joiners_.end())
      waiting_.emplace(now_, joiner->second);
    else
      ended_.insert(self);
    pass_on();
  });
}

void FakeClock::join(std::jthread& thread) {
  {
    MutexLock lock(mutex_);
    const std::thread::id id = thread.get_id();
    if (!ended_.contains(id)) {
      const uint64_t ticket = joiners_[id] = ++last_ticket_;
      pass_on();
      wait_for_turn(lock, ticket);
    }
    joiners_.erase(id);
    ended_.erase(id);
  }
  thread.join();
}

uint64_t FakeClock::enqueue(TimePoint due) {
  waiting_.emplace(std::max(due, now_), ++last_ticket_);
  return last_ticket_;
}

void FakeClock::pass_on() {
  turn_of_ = {};
  called_ = 0;
  if (waiting_.empty()) return;
  const auto [due, ticket] = *waiting_.begin();
  waiting_.erase(waiting_.begin());
  now_ = due;
  called_ = ticket;
  moved_on_.notify_all();
}

void FakeClock::wait_for_turn(MutexLock& lock, uint64_t ticket) {
  while (called_ != ticket) moved_on_.wait(lock);
  turn_of_ = std::this_thread::get_id();
}

}  // namespace ridge
