// Runs a library call that may never return, or a loop of them, in its own thread, so that the caller never blocks. If
// work can run in another process, use base/child_process.h: a child can be killed, a thread only abandoned.
//
// One thread owns it; the work runs in another.
#pragma once

#include <functional>
#include <future>
#include <optional>
#include <stop_token>
#include <thread>

#include "base/clock.h"
#include "base/result.h"

namespace ridge {

class BoundedThread {
 public:
  // Starts at once. What `work` uses must be owned by it: it may outlive everything else.
  explicit BoundedThread(std::function<Status(const std::stop_token&)> work);
  // Asks it to stop. A call that has not returned is abandoned, and ends with the process.
  ~BoundedThread();
  BoundedThread(const BoundedThread&) = delete;
  BoundedThread& operator=(const BoundedThread&) = delete;

  void request_stop() { stop_.request_stop(); }
  // The status that the work returned, waiting up to `patience` for it; nullopt: it has not returned.
  std::optional<Status> outcome(Nanoseconds patience);

 private:
  std::stop_source stop_;
  std::future<Status> future_;
  std::optional<Status> outcome_;
  std::thread thread_;
};

}  // namespace ridge
