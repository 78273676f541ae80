#include "front/http/control_thread.h"

#include <utility>

namespace ridge::front::http {
namespace {

constexpr size_t kMostWaiting = 64;  // an operator's calls, not traffic

}  // namespace

ControlThread::ControlThread() : thread_([this](const std::stop_token& stop) { work(stop); }) {}

ControlThread::~ControlThread() {
  thread_.request_stop();
  thread_.join();
}

bool ControlThread::run(std::function<void()> job) {
  {
    std::lock_guard lock(mutex_);
    if (jobs_.size() >= kMostWaiting) return false;
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

void ControlThread::work(const std::stop_token& stop) {
  while (true) {
    std::function<void()> job;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return !jobs_.empty(); })) return;
      if (stop.stop_requested()) return;
      job = std::exchange(jobs_.front(), nullptr);
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace ridge::front::http
