#include "front/job_threads.h"

#include <pthread.h>

#include <exception>
#include <new>
#include <utility>

#include "base/log.h"

namespace ridge::front {

JobThreads::JobThreads(const char* name, size_t threads, size_t most_waiting) : most_waiting_(most_waiting) {
  for (size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
    pthread_setname_np(threads_.back().native_handle(), name);
  }
}

JobThreads::~JobThreads() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

bool JobThreads::run(std::function<void()>&& job) {
  {
    MutexLock lock(mutex_);
    if (jobs_.size() >= most_waiting_) return false;
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

void JobThreads::work(const std::stop_token& stop) {
  while (true) {
    std::function<void()> job;
    {
      MutexLock lock(mutex_);
      while (jobs_.empty() && !stop.stop_requested()) changed_.wait(lock, stop);
      if (stop.stop_requested()) return;
      job = std::exchange(jobs_.front(), nullptr);
      jobs_.pop_front();
    }
    try {
      job();
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): its Responder answers with an error
    } catch (const std::exception& e) {
      log::error("a request is dropped: {}", e.what());
    }
  }
}

}  // namespace ridge::front
