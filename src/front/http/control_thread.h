// One thread for what takes long (loading a model), so that no I/O thread waits. Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace ridge::front::http {

class ControlThread {
 public:
  ControlThread();
  ~ControlThread();  // waits for the job that runs; jobs that have not begun are dropped

  // Jobs run one after another. False: too many wait already.
  bool run(std::function<void()> job);

 private:
  void work(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> jobs_;  // guarded by mutex_
  std::jthread thread_;                     // last: ends first
};

}  // namespace ridge::front::http
