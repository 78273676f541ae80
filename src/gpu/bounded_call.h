// A call into a library that may never return, made in a thread of its own, so that its caller always goes on.
//
// Stays where it was made. One thread waits for it.
#pragma once

#include <functional>
#include <future>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/result.h"

namespace ridge::gpu {

class BoundedCall {
 public:
  // Starts at once. What `call` uses must be owned by it: it may outlive everything else.
  explicit BoundedCall(std::function<Status()> call);
  // What has not returned is left behind: its thread ends with the process.
  ~BoundedCall();
  BoundedCall(const BoundedCall&) = delete;
  BoundedCall& operator=(const BoundedCall&) = delete;

  // Nothing: it has not returned within `patience`. Once it has said what came of it, it says so again.
  std::optional<Status> outcome(Nanoseconds patience);

 private:
  std::future<Status> future_;
  std::optional<Status> outcome_;
  std::thread thread_;
};

}  // namespace ridge::gpu
