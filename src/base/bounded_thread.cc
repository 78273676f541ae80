#include "base/bounded_thread.h"

#include <utility>

namespace ridge {

BoundedThread::BoundedThread(std::function<Status(const std::stop_token&)> work) {
  std::packaged_task<Status(std::stop_token)> task(std::move(work));
  future_ = task.get_future();
  thread_ = std::thread(std::move(task), stop_.get_token());
}

BoundedThread::~BoundedThread() {
  request_stop();
  if (outcome(Nanoseconds(0)))
    thread_.join();
  else
    thread_.detach();
}

std::optional<Status> BoundedThread::outcome(Nanoseconds patience) {
  if (!outcome_ && future_.wait_for(patience) == std::future_status::ready) outcome_ = future_.get();
  return outcome_;
}

}  // namespace ridge
