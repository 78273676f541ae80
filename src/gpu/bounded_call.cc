#include "gpu/bounded_call.h"

#include <utility>

namespace ridge::gpu {

BoundedCall::BoundedCall(std::function<Status()> call) {
  std::packaged_task<Status()> task(std::move(call));
  future_ = task.get_future();
  thread_ = std::thread(std::move(task));
}

BoundedCall::~BoundedCall() {
  if (outcome(Nanoseconds(0)))
    thread_.join();
  else
    thread_.detach();
}

std::optional<Status> BoundedCall::outcome(Nanoseconds patience) {
  if (!outcome_ && future_.wait_for(patience) == std::future_status::ready) outcome_ = future_.get();
  return outcome_;
}

}  // namespace ridge::gpu
