#include "serve/scheduler.h"

#include <algorithm>
#include <string>

namespace ridge::serve {

using Action = BatchDecision::Action;

BatchDecision Scheduler::decide(TimePoint now) const { return queue_.decide(closed_ ? TimePoint::max() : now); }

// A worker must be told if a batch should run, or if one is forming and nobody watches the clock for it.
bool Scheduler::should_wake(const BatchDecision& decision) const {
  if (idle_ == 0 || woken_ > 0) return false;
  return decision.action == Action::kRun || (decision.action == Action::kWait && timed_ == 0);
}

Result<TimePoint> Scheduler::submit(JobPtr& job) {
  TimePoint now = Clock::now();
  TimePoint news = TimePoint::max();
  bool wake = false;
  {
    std::lock_guard lock(mutex_);
    if (closed_) return Error{Code::kUnavailable, "model '" + job->request.model + "' is being unloaded"};
    RIDGE_TRY(queue_.add(job, now));
    if (queue_.next_deadline() < announced_) news = announced_ = queue_.next_deadline();
    wake = should_wake(decide(now));
    if (wake) ++woken_;
  }
  if (wake) work_.notify_one();
  return news;
}

void Scheduler::sleep(std::unique_lock<std::mutex>& lock, const BatchDecision& decision) {
  ++idle_;
  if (decision.action == Action::kWait && timed_ == 0) {
    ++timed_;
    work_.wait_until(lock, decision.until);
    --timed_;
  } else {
    work_.wait(lock);
  }
  --idle_;
  woken_ = std::max(0, woken_ - 1);
}

bool Scheduler::take(Batch& batch) {
  batch.jobs.clear();
  bool wake_next = false;
  {
    std::unique_lock lock(mutex_);
    BatchDecision decision = decide(Clock::now());
    while (decision.action != Action::kRun) {
      if (closed_) return false;
      sleep(lock, decision);
      decision = decide(Clock::now());
    }
    queue_.take(decision.requests, batch.jobs);
    batch.ticket = next_ticket_++;
    if (queue_.size() > 0) {
      wake_next = should_wake(decide(Clock::now()));
      if (wake_next) ++woken_;
    }
  }
  if (wake_next) work_.notify_one();
  return true;
}

TimePoint Scheduler::expire(TimePoint now, Jobs& expired) {
  std::lock_guard lock(mutex_);
  if (now < announced_) return TimePoint::max();  // a later entry of the timer stands for all deadlines that are left
  queue_.expire(now, expired);
  announced_ = queue_.next_deadline();
  return announced_;
}

void Scheduler::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  work_.notify_all();
}

size_t Scheduler::waiting() const {
  std::lock_guard lock(mutex_);
  return queue_.size();
}

}  // namespace ridge::serve
