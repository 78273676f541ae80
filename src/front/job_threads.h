// A few threads for long jobs (loading a model, reading a large body), for which no I/O thread waits. Thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace ridge::front {

class JobThreads {
 public:
  // `name` is shown by tools such as top, at most 15 characters.
  JobThreads(const char* name, size_t threads, size_t most_waiting);
  ~JobThreads();  // waits for the jobs that run; jobs that have not begun are dropped

  // Jobs begin in their order of arrival. False, without taking the job: too many wait already.
  bool run(std::function<void()>&& job);

 private:
  void work(const std::stop_token& stop);

  const size_t most_waiting_;
  Mutex mutex_;
  StoppableConditionVariable changed_;
  std::deque<std::function<void()>> jobs_ RIDGE_GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_;  // last: end first
};

}  // namespace ridge::front
