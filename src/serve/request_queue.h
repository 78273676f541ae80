// RequestQueue: the waiting jobs of one model version, in the order in which they will run, with the limits of their
// priority levels. Knows no clock and no threads: its owner passes the time and guards it.
//
// Order: level by level, first come first served; within a level, jobs whose timeout passed and that the policy delays
// instead of refusing come last.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "serve/batch_policy.h"
#include "serve/job.h"
#include "serve/model_settings.h"
#include "serve/outlook.h"

namespace ridge::serve {

class RequestQueue {
 public:
  // `always_merge`: the jobs' shapes need no look before they share a batch.
  RequestQueue(QueueSettings settings, bool always_merge);

  // Sets the job's queued time and its deadlines. Rejects it where a limit is reached (kUnavailable).
  [[nodiscard]] std::optional<Rejection> add(JobPtr job, TimePoint now);
  // Limits for a request that would be added now: its deadlines, where they refuse it, and those that wait before it.
  TimeLimits limits_of(const InferRequest& request, TimePoint now) const;
  // `looks`: without those of them whose clients have left, as far as a short look shows.
  Ahead ahead_of(const InferRequest& request, bool looks) const;
  BatchDecision decide(TimePoint now, const BatchPace& pace = {}) const { return policy_.decide(now, pace); }
  const BatchPolicy& forming() const { return policy_; }
  // How many of the first `requests`, as a batch that begins now, give the most answers by their deadlines per time:
  // all, unless fewer are clearly better. For batches that would take longer than their first requests have.
  size_t most_in_time(size_t requests, TimePoint now, const ServiceTimes& times) const;
  // Moves that many jobs from the front to the end of `batch`.
  void take(size_t requests, Jobs& batch);
  // Removes the jobs whose deadline has passed and appends them to `expired`, or delays them, as their level says;
  // those whose client's own deadline has passed are never delayed.
  void expire(TimePoint now, Jobs& expired);
  // Removes the jobs that are `unwanted` and appends them to `removed`.
  void remove(const std::function<bool(const Job&)>& unwanted, Jobs& removed);
  // No deadline lies before this; TimePoint::max() if there is none.
  TimePoint next_deadline() const { return next_deadline_; }
  size_t size() const { return size_; }
  const QueueSettings& settings() const { return settings_; }

 private:
  struct Line {
    void push(JobPtr job);
    JobPtr pop();
    // Moves those that are not `wanted` to the end of `removed`.
    void filter(const std::function<bool(const Job&)>& wanted, Jobs& removed);

    std::deque<JobPtr> jobs;
    int64_t rows = 0;  // of them
  };
  struct Level {
    Line waiting, delayed;
  };
  size_t level_of(const InferRequest& request) const;
  void extend_policy(const Job& job);
  void rebuild_policy();
  const Job* first() const;

  QueueSettings settings_;
  bool always_merge_;
  std::vector<Level> levels_;
  BatchPolicy policy_;
  size_t size_ = 0;
  TimePoint next_deadline_ = TimePoint::max();
};

}  // namespace ridge::serve
