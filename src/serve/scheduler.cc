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
  TimePoint now = SteadyClock::now();
  TimePoint news = TimePoint::max();
  bool wake = false;
  {
    MutexLock lock(mutex_);
    if (closed_) return Error{Code::kUnavailable, "model '" + job->request.model + "' is being unloaded"};
    RIDGE_TRY(queue_.add(job, now));
    if (queue_.next_deadline() < announced_) news = announced_ = queue_.next_deadline();
    wake = should_wake(decide(now));
    if (wake) ++woken_;
  }
  if (wake) work_.notify_one();
  return news;
}

void Scheduler::sleep(MutexLock& lock, const BatchDecision& decision) {
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

// Leaves in `jobs` the part of one worker and keeps the rest for others that sleep. Returns how many are to be woken for it.
int Scheduler::spread(Jobs& jobs) {
  if (!queue_.settings().spread) return 0;
  const size_t workers = static_cast<size_t>(std::max(0, idle_ - woken_)) + 1;
  const size_t parts = std::min(workers, jobs.size());
  const size_t all = jobs.size();
  for (size_t part = 1; part < parts; ++part) {
    Batch other;
    for (size_t i = all * part / parts; i < all * (part + 1) / parts; ++i) other.jobs.push_back(std::move(jobs[i]));
    other.ticket = next_ticket_++;
    spread_.push_back(std::move(other));
  }
  jobs.resize(all / parts);
  return static_cast<int>(parts) - 1;
}

bool Scheduler::take(Batch& batch) {
  batch.jobs.clear();
  int wake = 0;
  {
    MutexLock lock(mutex_);
    BatchDecision decision = decide(SteadyClock::now());
    while (spread_.empty() && decision.action != Action::kRun) {
      if (closed_) return false;
      sleep(lock, decision);
      decision = decide(SteadyClock::now());
    }
    if (!spread_.empty()) {
      batch = std::move(spread_.front());
      spread_.pop_front();
    } else {
      queue_.take(decision.requests, batch.jobs);
      batch.ticket = next_ticket_++;
      wake = spread(batch.jobs);
      woken_ += wake;
    }
    if (queue_.size() > 0 && should_wake(decide(SteadyClock::now()))) {
      ++woken_;
      ++wake;
    }
  }
  for (; wake > 0; --wake) work_.notify_one();
  return true;
}

TimePoint Scheduler::expire(TimePoint now, Jobs& expired) {
  MutexLock lock(mutex_);
  if (now < announced_) return TimePoint::max();  // a later entry of the timer stands for all deadlines that are left
  queue_.expire(now, expired);
  announced_ = queue_.next_deadline();
  return announced_;
}

void Scheduler::close() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
  }
  work_.notify_all();
}

size_t Scheduler::waiting() const {
  MutexLock lock(mutex_);
  size_t jobs = queue_.size();
  for (const Batch& part : spread_) jobs += part.jobs.size();
  return jobs;
}

}  // namespace ridge::serve
