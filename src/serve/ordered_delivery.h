// OrderedDelivery: lets actions with consecutive tickets happen in the order of the tickets, whoever brings them.
//
// Thread-safe. An action is run by the thread that brings it or, if an earlier one is still missing, by the thread that
// brings that one; never two at a time, never under the lock. Every ticket from 0 must be brought exactly once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/mutex.h"

namespace ridge::serve {

class OrderedDelivery {
 public:
  void bring(uint64_t ticket, std::function<void()> action) {
    MutexLock lock(mutex_);
    waiting_.emplace(ticket, std::move(action));
    if (running_) return;
    running_ = true;
    for (auto next = waiting_.find(next_); next != waiting_.end(); next = waiting_.find(next_)) {
      std::function<void()> due = std::move(next->second);
      waiting_.erase(next);
      ++next_;
      lock.unlock();
      due();
      lock.lock();
    }
    running_ = false;
  }

 private:
  Mutex mutex_;
  std::map<uint64_t, std::function<void()>> waiting_ RIDGE_GUARDED_BY(mutex_);
  uint64_t next_ RIDGE_GUARDED_BY(mutex_) = 0;
  bool running_ RIDGE_GUARDED_BY(mutex_) = false;
};

}  // namespace ridge::serve
