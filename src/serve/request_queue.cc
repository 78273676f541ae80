#include "serve/request_queue.h"

#include <algorithm>
#include <iterator>
#include <queue>
#include <string>

namespace ridge::serve {
namespace {

// A batch is cut only for that many times as many answers in time: what is left behind makes the next ones late.
constexpr double kWorthIt = 1.125;
constexpr size_t kLongestLook = 1000;  // [requests] under the scheduler's lock

TimePoint earlier(TimePoint deadline, Nanoseconds timeout, TimePoint now) {
  if (timeout <= Nanoseconds(0) || timeout > TimePoint::max() - now) return deadline;
  return std::min(deadline, now + timeout);
}

struct Deadlines {
  TimePoint answer_by;  // the request's own
  TimePoint in_queue;   // when it leaves the queue unserved
};

Deadlines deadlines_of(const QueuePolicy& policy, const InferRequest& request, TimePoint now) {
  const Nanoseconds own = policy.allow_timeout_override ? request.timeout.value_or(Nanoseconds(0)) : Nanoseconds(0);
  const TimePoint answer_by = earlier(request.deadline, own, now);
  return {answer_by, earlier(answer_by, policy.default_timeout, now)};
}

}  // namespace

RequestQueue::RequestQueue(QueueSettings settings, bool always_merge)
    : settings_(std::move(settings)),
      always_merge_(always_merge),
      levels_(settings_.levels.size()),
      policy_(settings_.batch) {}

void RequestQueue::Line::push(JobPtr job) {
  rows += job->rows;
  jobs.push_back(std::move(job));
}

JobPtr RequestQueue::Line::pop() {
  JobPtr job = std::move(jobs.front());
  jobs.pop_front();
  rows -= job->rows;
  return job;
}

void RequestQueue::Line::filter(const std::function<bool(const Job&)>& wanted, Jobs& removed) {
  auto gone = std::stable_partition(jobs.begin(), jobs.end(), [&](const JobPtr& job) { return wanted(*job); });
  for (auto job = gone; job != jobs.end(); ++job) rows -= (*job)->rows;
  std::move(gone, jobs.end(), std::back_inserter(removed));
  jobs.erase(gone, jobs.end());
}

// A level missing from the model means the default one, as in Triton: clients send one priority to all models.
size_t RequestQueue::level_of(const InferRequest& request) const {
  const bool known = request.priority > 0 && request.priority <= levels_.size();
  return known ? static_cast<size_t>(request.priority - 1) : settings_.default_level;
}

TimeLimits RequestQueue::limits_of(const InferRequest& request, TimePoint now) const {
  const QueuePolicy& policy = settings_.levels[level_of(request)];
  // Where the policy delays late requests, only the client's own deadline refuses them.
  const Deadlines deadlines =
      policy.delay_expired ? Deadlines{request.deadline, request.deadline} : deadlines_of(policy, request, now);
  TimeLimits limits;
  if (deadlines.answer_by != TimePoint::max()) limits.answer = deadlines.answer_by - now;
  if (deadlines.in_queue != TimePoint::max()) limits.in_queue = deadlines.in_queue - now;
  return limits;
}

Ahead RequestQueue::ahead_of(const InferRequest& request, bool looks) const {
  const size_t level = level_of(request);
  Ahead ahead;
  size_t left_to_look = looks ? kLongestLook : 0;
  const auto add = [&](const Line& line) {
    ahead.requests += line.jobs.size();
    ahead.rows += line.rows;
    for (auto job = line.jobs.begin(); job != line.jobs.end() && left_to_look > 0; ++job, --left_to_look) {
      if (!(*job)->request.cancelled.stop_requested()) continue;
      --ahead.requests;
      ahead.rows -= (*job)->rows;
    }
  };
  for (size_t i = 0; i < level; ++i) {
    add(levels_[i].waiting);
    add(levels_[i].delayed);
  }
  add(levels_[level].waiting);
  return ahead;
}

std::optional<Rejection> RequestQueue::add(JobPtr job, TimePoint now) {
  const size_t index = level_of(job->request);
  Level& level = levels_[index];
  const QueuePolicy& policy = settings_.levels[index];
  size_t limit = policy.max_size > 0 ? policy.max_size : settings_.size_limit;
  if (level.waiting.jobs.size() + level.delayed.jobs.size() >= limit) {
    Error full{Code::kUnavailable, "the queue of model '" + job->request.model + "' is full (" + std::to_string(limit) +
                                       " requests wait): Exceeds maximum queue size"};
    return Rejection{std::move(job), std::move(full), FailureReason::kQueueFull};
  }
  const Deadlines deadlines = deadlines_of(policy, job->request, now);
  if (job->queued == TimePoint{}) job->queued = now;
  job->answer_by = deadlines.answer_by;
  job->deadline = deadlines.in_queue;
  next_deadline_ = std::min(next_deadline_, job->deadline);
  level.waiting.push(std::move(job));
  ++size_;
  bool last_in_order = index + 1 == levels_.size() && level.delayed.jobs.empty();
  if (last_in_order)
    extend_policy(*level.waiting.jobs.back());
  else
    rebuild_policy();
  return std::nullopt;
}

const Job* RequestQueue::first() const {
  for (const Level& level : levels_) {
    if (!level.waiting.jobs.empty()) return level.waiting.jobs.front().get();
    if (!level.delayed.jobs.empty()) return level.delayed.jobs.front().get();
  }
  return nullptr;
}

void RequestQueue::extend_policy(const Job& job) {
  if (policy_.closed()) return;
  bool fits = always_merge_ || !settings_.batch.merge || mergeable(*first(), job);
  policy_.add(job.rows, fits, job.queued, job.answer_by);
}

void RequestQueue::rebuild_policy() {
  policy_.clear();
  for (const Level& level : levels_)
    for (const Line* line : {&level.waiting, &level.delayed})
      for (const JobPtr& job : line->jobs) {
        if (policy_.closed()) return;
        extend_policy(*job);
      }
}

size_t RequestQueue::most_in_time(size_t requests, TimePoint now, const ServiceTimes& times) const {
  if (policy_.answer_by() == TimePoint::max() || times.empty()) return requests;
  std::priority_queue<TimePoint, std::vector<TimePoint>, std::greater<>> in_time;  // deadlines
  size_t count = 0, best = 1;
  int64_t rows = 0;
  double rate = 0, best_rate = 0;  // [answers/ns]
  const auto consider = [&](const Job& job) {
    rows += job.rows;
    ++count;
    in_time.push(job.answer_by);
    const Nanoseconds time = times.usual(rows);  // grows with the rows: a late one stays late
    while (!in_time.empty() && in_time.top() < now + time) in_time.pop();
    rate = static_cast<double>(in_time.size()) / std::max(1.0, static_cast<double>(time.count()));
    if (rate < best_rate) return;
    best = count;
    best_rate = rate;
  };
  for (const Level& level : levels_)
    for (const Line* line : {&level.waiting, &level.delayed})
      for (size_t i = 0; i < line->jobs.size() && count < requests; ++i) consider(*line->jobs[i]);
  return best_rate > kWorthIt * rate ? best : requests;
}

void RequestQueue::take(size_t requests, Jobs& batch) {
  for (Level& level : levels_)
    for (Line* line : {&level.waiting, &level.delayed})
      for (; requests > 0 && !line->jobs.empty(); --requests) {
        batch.push_back(line->pop());
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
    for (Line* line : {&level.waiting, &level.delayed})
      line->filter([now](const Job& job) { return job.deadline > now; }, overdue);
    for (JobPtr& job : overdue) {
      job->deadline = job->request.deadline;
      if (settings_.levels[i].delay_expired && job->deadline > now) {
        job->answer_by = job->deadline;
        level.delayed.push(std::move(job));
      } else {
        expired.push_back(std::move(job));
        --size_;
      }
    }
    for (const Line* line : {&level.waiting, &level.delayed})
      for (const JobPtr& job : line->jobs) next_deadline_ = std::min(next_deadline_, job->deadline);
  }
  rebuild_policy();
}

void RequestQueue::remove(const std::function<bool(const Job&)>& unwanted, Jobs& removed) {
  const size_t before = removed.size();
  for (Level& level : levels_)
    for (Line* line : {&level.waiting, &level.delayed})
      line->filter([&](const Job& job) { return !unwanted(job); }, removed);
  size_ -= removed.size() - before;
  if (removed.size() > before) rebuild_policy();
}

}  // namespace ridge::serve
