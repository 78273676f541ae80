#include "serve/scheduler.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace ridge::serve {

using Action = BatchDecision::Action;

BatchDecision Scheduler::decide(TimePoint now) const { return queue_.decide(hurried_ ? TimePoint::max() : now); }

// Wakes a worker if a batch should run, or if one is forming and no worker watches its deadline.
bool Scheduler::should_wake(const BatchDecision& decision) const {
  if (asleep_ == 0 || notified_ > 0) return false;
  return decision.action == Action::kRun || (decision.action == Action::kWait && !batch_is_timed_);
}

// The next time for expire(), if earlier than the requested one; else TimePoint::max().
TimePoint Scheduler::new_alarm() {
  if (queue_.next_deadline() >= alarm_) return TimePoint::max();
  return alarm_ = queue_.next_deadline();
}

std::optional<Rejection> Scheduler::submit(JobPtr job) {
  const TimePoint now = clock_.now();
  TimePoint alarm = TimePoint::max();
  bool wake = false;
  {
    MutexLock lock(mutex_);
    if (closed_) {
      Error unloading{Code::kUnavailable, "model '" + job->request.model + "' is being unloaded"};
      return Rejection{std::move(job), std::move(unloading)};
    }
    if (std::optional<Rejection> rejection = queue_.add(std::move(job), now)) return rejection;
    alarm = new_alarm();
    wake = should_wake(decide(now));
    if (wake) ++notified_;
  }
  if (wake) work_.notify_one();
  if (alarm != TimePoint::max()) call_expire_at_(alarm);
  return std::nullopt;
}

void Scheduler::sleep(MutexLock& lock, const BatchDecision& decision) {
  ++asleep_;
  const bool timed = decision.action == Action::kWait && !batch_is_timed_;
  batch_is_timed_ |= timed;
  clock_.wait_until(work_, lock, timed ? decision.until : TimePoint::max());
  if (timed) batch_is_timed_ = false;
  --asleep_;
  notified_ = std::max(0, notified_ - 1);
}

// Leaves one worker's part in `jobs` and keeps the rest for sleeping ones. Returns how many to wake.
int Scheduler::spread(Jobs& jobs) {
  if (!queue_.settings().spread || jobs.empty()) return 0;
  const size_t workers = static_cast<size_t>(std::max(0, asleep_ - notified_)) + 1;
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

// So that no run is spent on a client that has left, however short before.
void Scheduler::set_unwanted_apart(Batch& batch, TimePoint now) {
  auto unwanted = std::stable_partition(batch.jobs.begin(), batch.jobs.end(), [now](const JobPtr& job) {
    return !job->request.cancelled.stop_requested() && job->request.deadline > now;
  });
  std::move(unwanted, batch.jobs.end(), std::back_inserter(batch.unwanted));
  batch.jobs.erase(unwanted, batch.jobs.end());
}

bool Scheduler::take(Batch& batch) {
  batch.jobs.clear();
  batch.unwanted.clear();
  int wake = 0;
  {
    MutexLock lock(mutex_);
    BatchDecision decision = decide(clock_.now());
    while (spread_.empty() && decision.action != Action::kRun) {
      if (closed_) return false;
      sleep(lock, decision);
      decision = decide(clock_.now());
    }
    if (!spread_.empty()) {
      batch = std::move(spread_.front());
      spread_.pop_front();
    } else {
      queue_.take(decision.requests, batch.jobs);
      set_unwanted_apart(batch, clock_.now());
      batch.ticket = next_ticket_++;
      wake = spread(batch.jobs);
      notified_ += wake;
    }
    if (queue_.size() > 0 && should_wake(decide(clock_.now()))) {
      ++notified_;
      ++wake;
    }
  }
  for (; wake > 0; --wake) work_.notify_one();
  return true;
}

Jobs Scheduler::expire(TimePoint now) {
  Jobs expired;
  TimePoint alarm = TimePoint::max();
  {
    MutexLock lock(mutex_);
    if (now < alarm_) return expired;  // an earlier call has done it, and requested the next one
    queue_.expire(now, expired);
    alarm_ = TimePoint::max();
    alarm = new_alarm();
  }
  if (alarm != TimePoint::max()) call_expire_at_(alarm);
  return expired;
}

Jobs Scheduler::remove(const std::function<bool(const Job&)>& unwanted) {
  Jobs removed;
  MutexLock lock(mutex_);
  queue_.remove(unwanted, removed);
  return removed;
}

void Scheduler::hurry() {
  {
    MutexLock lock(mutex_);
    hurried_ = true;
  }
  work_.notify_all();
}

void Scheduler::close() {
  {
    MutexLock lock(mutex_);
    closed_ = hurried_ = true;
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
