#include "serve/scheduler.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "serve/adaptive_delay.h"

namespace ridge::serve {

using Action = BatchDecision::Action;

// `takers_asleep`: of the sleeping workers, those who would take the batch. While another one sleeps no batch waits
// adaptively: the next request would have a worker of its own.
BatchDecision Scheduler::decide(TimePoint now, int takers_asleep) const {
  if (hurried_) return queue_.decide(TimePoint::max());
  const BatchPolicy& forming = queue_.forming();
  BatchPace pace{.delay_pays_until = now};
  if (forming.answer_by() != TimePoint::max()) pace.run = times_.high(forming.rows());
  if (queue_.settings().batch.adaptive && asleep_ <= takers_asleep)
    pace.delay_pays_until = delay_pays_until(forming.requests(), forming.rows(), arrivals_, times_);
  return queue_.decide(now, pace);
}

// Wakes a worker if a batch should run, or if one is forming and no worker watches its deadline.
bool Scheduler::should_wake(const BatchDecision& decision) const {
  if (asleep_ == 0 || notified_ > 0 || lent_) return false;
  return decision.action == Action::kRun || (decision.action == Action::kWait && decision.until < timed_until_);
}

void Scheduler::begin_run(const Batch& batch, TimePoint now) {
  if (batch.jobs.empty()) return;
  Running& run = running_.emplace_back(Running{batch.ticket, 0, now});
  for (const JobPtr& job : batch.jobs) run.rows += job->rows;
}

void Scheduler::end_run(const Batch& batch, TimePoint now) {
  const auto run = std::find_if(running_.begin(), running_.end(),
                                [&](const Running& running) { return running.ticket == batch.ticket; });
  if (run == running_.end()) return;
  times_.record(run->rows, now - run->begun, now);
  running_.erase(run);
}

// Weighs the latest by an eighth: shapes and sizes of requests change slowly.
void Scheduler::note_whole_batch(size_t requests) {
  const auto count = static_cast<double>(requests);
  requests_per_batch_ = requests_per_batch_ == 0 ? count : requests_per_batch_ + (count - requests_per_batch_) / 8;
}

// Applies while more wait. Before that was seen: the number that fits of those that wait.
double Scheduler::requests_per_batch() const {
  const BatchLimits& limits = queue_.settings().batch;
  if (!limits.merge) return 1;
  if (requests_per_batch_ > 0) return requests_per_batch_;
  const auto requests = static_cast<double>(std::max<size_t>(1, queue_.forming().requests()));
  const auto rows = static_cast<double>(std::max<int64_t>(1, queue_.forming().rows()));
  return std::max(1.0, std::floor(static_cast<double>(limits.max_rows) * requests / rows));
}

// Of each instance that is not asleep.
std::vector<Nanoseconds> Scheduler::free_in(TimePoint now) const {
  std::vector<Nanoseconds> free(static_cast<size_t>(notified_));
  for (const Running& run : running_)
    free.push_back(std::max(Nanoseconds(0), times_.expected(run.rows) - (now - run.begun)));
  return free;
}

Status Scheduler::check_deadline(const Job& job, TimePoint now) const {
  if ((asleep_ > notified_ && !lent_) || times_.empty()) return {};
  const TimeLimits limits = queue_.limits_of(job.request, now);
  if (std::min(limits.in_queue, limits.answer) == Nanoseconds::max()) return {};
  const BatchLimits& batch = queue_.settings().batch;
  const QueueLoad load{.free_in = free_in(now),
                       .requests_per_batch = requests_per_batch(),
                       .rows_per_batch = batch.merge ? batch.max_rows : job.rows,
                       .gap = arrivals_.gap()};
  if (load.free_in.empty()) return {};
  const auto check = [&](bool looks) RIDGE_REQUIRES(mutex_) {
    return check_outlook(outlook_of(job.rows, queue_.ahead_of(job.request, looks), load, limits, times_), limits,
                         job.request.model);
  };
  Status met = check(false);
  return met ? met : check(true);
}

// The next time for expire(), if earlier than the requested one; else TimePoint::max().
TimePoint Scheduler::new_alarm() {
  if (queue_.next_deadline() >= alarm_) return TimePoint::max();
  return alarm_ = queue_.next_deadline();
}

// True if one is to be woken; it then counts as notified.
bool Scheduler::notes_wake() {
  const bool wake = should_wake(decide(clock_.now(), 1));
  if (wake) ++notified_;
  return wake;
}

void Scheduler::wake() {
  bool wake = false;
  {
    MutexLock lock(mutex_);
    wake = notes_wake();
  }
  if (wake) work_.notify_one();
}

std::optional<Rejection> Scheduler::submit(JobPtr job, bool in_round) {
  const TimePoint now = clock_.now();
  TimePoint alarm = TimePoint::max();
  bool wake = false;
  {
    MutexLock lock(mutex_);
    if (closed_) {
      Error unloading{Code::kUnavailable, "model '" + job->request.model + "' is being unloaded"};
      return Rejection{std::move(job), std::move(unloading)};
    }
    arrivals_.record(now);
    if (Status met = check_deadline(*job, now); !met)
      return Rejection{std::move(job), std::move(met).error(), FailureReason::kPredictedLate};
    if (std::optional<Rejection> rejection = queue_.add(std::move(job), now)) {
      const std::vector<Nanoseconds> free = free_in(now);
      // A batch that takes longer than expected may end at any moment; whoever asks all the time has soon given up.
      if (!free.empty()) rejection->error.retry_after = std::max(std::ranges::min(free), times_.expected(1) / 10);
      return rejection;
    }
    alarm = new_alarm();
    wake = !in_round && notes_wake();
  }
  if (wake) work_.notify_one();
  if (alarm != TimePoint::max()) call_expire_at_(alarm);
  return std::nullopt;
}

void Scheduler::sleep(MutexLock& lock, const BatchDecision& decision) {
  ++asleep_;
  const bool timed = decision.action == Action::kWait && decision.until < timed_until_;
  if (timed) timed_until_ = decision.until;
  clock_.wait_until(work_, lock, timed ? decision.until : TimePoint::max());
  if (timed && timed_until_ == decision.until) timed_until_ = TimePoint::max();
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

bool Scheduler::is_due(const BatchDecision& decision) const {
  return !spread_.empty() || decision.action == Action::kRun;
}

// False: closed, and nothing waits.
bool Scheduler::await_due(MutexLock& lock, BatchDecision& decision) {
  while (lent_ || !is_due(decision)) {
    if (closed_ && !lent_) return false;
    sleep(lock, lent_ ? BatchDecision{} : decision);
    decision = decide(clock_.now(), 0);
  }
  return true;
}

void Scheduler::take_whole(const BatchDecision& decision, Batch& batch) {
  const TimePoint now = clock_.now();
  queue_.take(queue_.most_in_time(decision.requests, now, times_), batch.jobs);
  if (queue_.size() > 0) note_whole_batch(decision.requests);
  set_unwanted_apart(batch, now);
  batch.ticket = next_ticket_++;
}

bool Scheduler::borrow(Batch& batch) {
  MutexLock lock(mutex_);
  const TimePoint now = clock_.now();
  end_run(batch, now);
  batch.jobs.clear();
  batch.unwanted.clear();
  if (batch.ticket == Batch{}.ticket && (lent_ || asleep_ == 0 || notified_ > 0)) return false;
  const BatchDecision decision = decide(now, 1);
  const Nanoseconds most = kShortRun + static_cast<int64_t>(decision.requests) * kShortRunPerRequest;
  if (decision.action != Action::kRun || times_.empty() || times_.usual(queue_.forming().rows()) > most) return false;
  lent_ = true;
  take_whole(decision, batch);
  begin_run(batch, now);
  return true;
}

void Scheduler::give_back(const Batch& batch) {
  bool wake = false;
  {
    MutexLock lock(mutex_);
    end_run(batch, clock_.now());
    lent_ = false;
    wake = closed_ || notes_wake();
  }
  if (wake) work_.notify_one();
}

bool Scheduler::take(Batch& batch) {
  batch.jobs.clear();
  batch.unwanted.clear();
  int wake = 0;
  {
    MutexLock lock(mutex_);
    const TimePoint begin = clock_.now();
    end_run(batch, begin);
    BatchDecision decision = decide(begin, 0);
    if (!await_due(lock, decision)) return false;
    if (!spread_.empty()) {
      batch = std::move(spread_.front());
      spread_.pop_front();
    } else {
      take_whole(decision, batch);
      wake = spread(batch.jobs);
      notified_ += wake;
    }
    begin_run(batch, clock_.now());
    if (queue_.size() > 0 && notes_wake()) ++wake;
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
