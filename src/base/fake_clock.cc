#include "base/fake_clock.h"

#include <algorithm>

namespace ridge {

TimePoint FakeClock::now() const {
  MutexLock lock(mutex_);
  return now_ += look_takes_;
}

void FakeClock::sleep_until(TimePoint due) {
  MutexLock lock(mutex_);
  if (turn_of_ == std::this_thread::get_id()) {
    const uint64_t ticket = enqueue(due);
    pass_on(lock);
    return wait_for_turn(lock, ticket);
  }
  lock.unlock();
  Mutex mutex;
  ConditionVariable never;
  MutexLock own(mutex);
  while (now() < due) wait_until(never, own, due);
}

void FakeClock::wait_until(ConditionVariable& changed, MutexLock& held, TimePoint due) {
  std::list<Wait>::iterator wait;
  {
    MutexLock lock(mutex_);
    if (now_ >= due) return;
    wait = waits_.insert(waits_.end(), {changed, *held.native_.mutex(), due});
    moved_on_.notify_all();
  }
  changed.wait(held);
  held.native_.unlock();  // pass_on() may be about to take it
  {
    MutexLock lock(mutex_);
    while (wait->notifying) moved_on_.wait(lock);
    waits_.erase(wait);
  }
  held.native_.lock();
}

void FakeClock::await(TimePoint due, int threads) {
  MutexLock lock(mutex_);
  while (std::ranges::count(waits_, due, &Wait::due) < threads) moved_on_.wait(lock);
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
    pass_on(own);
  });
}

void FakeClock::join(std::jthread& thread) {
  {
    MutexLock lock(mutex_);
    const std::thread::id id = thread.get_id();
    if (!ended_.contains(id)) {
      const uint64_t ticket = joiners_[id] = ++last_ticket_;
      pass_on(lock);
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

void FakeClock::pass_on(MutexLock& lock) {
  turn_of_ = {};
  called_ = 0;
  if (waiting_.empty()) return;
  const auto [due, ticket] = *waiting_.begin();
  waiting_.erase(waiting_.begin());
  now_ = std::max(now_, due);
  // Holding the mutex keeps every wait from standing between its look at the time and its sleep.
  for (Wait& wait : waits_) wait.notifying = wait.due <= now_;
  for (auto wait = waits_.begin(); wait != waits_.end(); ++wait) {
    if (!wait->notifying) continue;
    lock.native_.unlock();
    {
      const std::lock_guard own(wait->mutex);
      wait->changed.notify_all();
    }
    lock.native_.lock();
    wait->notifying = false;
  }
  called_ = ticket;
  moved_on_.notify_all();
}

void FakeClock::wait_for_turn(MutexLock& lock, uint64_t ticket) {
  while (called_ != ticket) moved_on_.wait(lock);
  turn_of_ = std::this_thread::get_id();
}

}  // namespace ridge
