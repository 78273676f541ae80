#include "serve/request_queue.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace ridge::serve {
namespace {

TimePoint deadline_of(const QueuePolicy& policy, const InferRequest& request, TimePoint now) {
  Nanoseconds timeout = policy.default_timeout;
  if (policy.allow_timeout_override && request.timeout && *request.timeout > Nanoseconds(0))
    timeout = timeout > Nanoseconds(0) ? std::min(timeout, *request.timeout) : *request.timeout;
  if (timeout <= Nanoseconds(0) || timeout > TimePoint::max() - now) return request.deadline;
  return std::min(request.deadline, now + timeout);
}

// Moves those of `jobs` whose deadline has passed to the end of `overdue`.
void take_overdue(std::deque<JobPtr>& jobs, TimePoint now, Jobs& overdue) {
  auto late = std::stable_partition(jobs.begin(), jobs.end(), [now](const JobPtr& job) { return job->deadline > now; });
  std::move(late, jobs.end(), std::back_inserter(overdue));
  jobs.erase(late, jobs.end());
}

}  // namespace

RequestQueue::RequestQueue(QueueSettings settings, bool always_merge)
    : settings_(std::move(settings)),
      always_merge_(always_merge),
      levels_(settings_.levels.size()),
      policy_(settings_.batch) {}

std::optional<Rejection> RequestQueue::add(JobPtr job, TimePoint now) {
  // A level missing from the model means the default one, as in Triton: clients send one priority to all models.
  uint64_t priority = job->request.priority;
  bool known = priority > 0 && priority <= levels_.size();
  size_t index = known ? static_cast<size_t>(priority - 1) : settings_.default_level;
  Level& level = levels_[index];
  const QueuePolicy& policy = settings_.levels[index];
  size_t limit = policy.max_size > 0 ? policy.max_size : settings_.size_limit;
  if (level.waiting.size() + level.delayed.size() >= limit) {
    Error full{Code::kUnavailable, "the queue of model '" + job->request.model + "' is full (" + std::to_string(limit) +
                                       " requests wait): Exceeds maximum queue size"};
    return Rejection{std::move(job), std::move(full)};
  }
  job->queued = now;
  job->deadline = deadline_of(policy, job->request, now);
  next_deadline_ = std::min(next_deadline_, job->deadline);
  level.waiting.push_back(std::move(job));
  ++size_;
  bool last_in_order = index + 1 == levels_.size() && level.delayed.empty();
  if (last_in_order)
    extend_policy(*level.waiting.back());
  else
    rebuild_policy();
  return std::nullopt;
}

const Job* RequestQueue::first() const {
  for (const Level& level : levels_) {
    if (!level.waiting.empty()) return level.waiting.front().get();
    if (!level.delayed.empty()) return level.delayed.front().get();
  }
  return nullptr;
}

void RequestQueue::extend_policy(const Job& job) {
  if (policy_.closed()) return;
  bool fits = always_merge_ || !settings_.batch.merge || mergeable(*first(), job);
  policy_.add(job.rows, fits, job.queued);
}

void RequestQueue::rebuild_policy() {
  policy_.clear();
  for (const Level& level : levels_)
    for (const auto* jobs : {&level.waiting, &level.delayed})
      for (const JobPtr& job : *jobs) {
        if (policy_.closed()) return;
        extend_policy(*job);
      }
}

void RequestQueue::take(size_t requests, Jobs& batch) {
  for (Level& level : levels_)
    for (auto* jobs : {&level.waiting, &level.delayed})
      for (; requests > 0 && !jobs->empty(); --requests) {
        batch.push_back(std::move(jobs->front()));
        jobs->pop_front();
        --size_;
      }
  rebuild_policy();
}

void RequestQueue::expire(TimePoint now, Jobs& expired) {
  if (now < next_deadline_) return;
  next_deadline_ = TimePoint::max();
  for (size_t i = 0; i < levels_.size(); ++i) {
    Level& level = levels_[i];
    Jobs overdue;
    take_overdue(level.waiting, now, overdue);
    take_overdue(level.delayed, now, overdue);
    for (JobPtr& job : overdue) {
      job->deadline = job->request.deadline;
      if (settings_.levels[i].delay_expired && job->deadline > now) {
        level.delayed.push_back(std::move(job));
      } else {
        expired.push_back(std::move(job));
        --size_;
      }
    }
    for (const auto* jobs : {&level.waiting, &level.delayed})
      for (const JobPtr& job : *jobs) next_deadline_ = std::min(next_deadline_, job->deadline);
  }
  rebuild_policy();
}

void RequestQueue::remove(const std::function<bool(const Job&)>& unwanted, Jobs& removed) {
  const size_t before = removed.size();
  for (Level& level : levels_)
    for (auto* jobs : {&level.waiting, &level.delayed}) {
      auto gone = std::stable_partition(jobs->begin(), jobs->end(), [&](const JobPtr& job) { return !unwanted(*job); });
      std::move(gone, jobs->end(), std::back_inserter(removed));
      jobs->erase(gone, jobs->end());
    }
  size_ -= removed.size() - before;
  if (removed.size() > before) rebuild_policy();
}

}  // namespace ridge::serve
