#include "serve/served_version.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "base/utc.h"
#include "serve/batch_runner.h"
#include "serve/cached_answers.h"
#include "serve/request_check.h"
#include "serve/round.h"

namespace ridge::serve {
namespace {

constexpr int kMostBorrowed = 4;  // batches in a row: others bring jobs meanwhile, and the caller's sockets wait
constexpr Nanoseconds kBetweenChecks = std::chrono::seconds(1);  // whether a previous version still has sequences

Nanoseconds time_in_server(std::span<const JobPtr> jobs, TimePoint now) {
  Nanoseconds total{0};
  for (const JobPtr& job : jobs) total += now - job->request.arrived;
  return total;
}

// True if no instance has cores of its own, which another thread would leave.
bool keeps_nowhere(std::span<const HostPolicy> hosts) {
  return std::all_of(hosts.begin(), hosts.end(), [](const HostPolicy& host) { return host.name.empty(); });
}

}  // namespace

ServedVersion::ServedVersion(LoadedModel model, DeadlineTimer& timer, Clock& clock, Recorder* recorder, RunLimit limit,
                             std::shared_ptr<ResponseCache> cache)
    : TensorModel({.tensors = this, .encoder = std::move(model.encoder)}),
      model_(std::move(model)),
      timer_(timer),
      clock_(clock),
      recorder_(recorder),
      cache_(model_.settings.response_cache ? std::move(cache) : nullptr),
      cache_owner_(cache_ != nullptr ? cache_->new_owner() : 0),
      lends_(model_.bounded_runs && model_.sessions.size() == 1 && keeps_nowhere(model_.hosts)),
      limit_(std::move(limit)),
      watch_(limit_.most, model_.sessions.size()),
      states_(model_.sessions.size(), WorkerState::kWorks) {
  const ModelSettings& settings = model_.settings;
  for (const auto& session : model_.sessions)
    runners_.push_back(std::make_unique<BatchRunner>(settings, *session, clock_));
  if (settings.sequences)
    sequences_ = std::make_unique<Sequences>(*settings.sequences, model_.sessions.size(), settings.queue.size_limit);
  const size_t schedulers = sequences_ ? model_.sessions.size() : 1;
  while (schedulers_.size() < schedulers)
    schedulers_.push_back(
        std::make_unique<Scheduler>(settings.queue, settings.fixed_input_shapes, clock_,
                                    [this](TimePoint due) { timer_.schedule(due, weak_from_this()); }));
}

// Sequences are compared by variants that always have a value.
ServedVersion::~ServedVersion() {  // NOLINT(bugprone-exception-escape)
  close();
  join();
  if (cache_ != nullptr) cache_->drop(cache_owner_);
}

void ServedVersion::start() {
  for (size_t instance = 0; instance < model_.sessions.size(); ++instance)
    workers_.emplace_back([this, instance] {
      work(instance);
      const std::shared_ptr<ServedVersion> last = leave(instance);  // may free this version, at the very end
    });
}

// Gives up what kept the version for a worker that has ended.
std::shared_ptr<ServedVersion> ServedVersion::leave(size_t instance) {
  MutexLock lock(ends_mutex_);
  const bool given_up = states_[instance] == WorkerState::kGivenUp;
  if (!given_up) states_[instance] = WorkerState::kEnded;
  ends_.notify_all();
  if (!given_up || --runs_given_up_ > 0) return nullptr;
  return std::exchange(self_, nullptr);
}

void ServedVersion::join() {
  for (size_t instance = 0; instance < workers_.size(); ++instance) {
    if (!workers_[instance].joinable()) continue;
    bool ended = false;
    {
      MutexLock lock(ends_mutex_);
      while (states_[instance] == WorkerState::kWorks) ends_.wait(lock);
      ended = states_[instance] == WorkerState::kEnded;
    }
    ended ? workers_[instance].join() : workers_[instance].detach();
  }
}

void ServedVersion::follow(const VersionPtr& previous) {
  if (!sequences_) return;
  {
    MutexLock lock(previous_mutex_);
    previous_ = std::dynamic_pointer_cast<ServedVersion>(previous);  // an ensemble has no sequences
  }
  timer_.schedule(clock_.now() + kBetweenChecks, weak_from_this());  // not at once: requests may be on their way to it
}

std::shared_ptr<ServedVersion> ServedVersion::previous() const {
  MutexLock lock(previous_mutex_);
  return previous_;
}

bool ServedVersion::keeps(const SequenceId& id) const {
  if (sequences_ && sequences_->is_open(id)) return true;
  const auto before = previous();
  return before && before->keeps(id);
}

// Lets go of versions before this one that have no sequences any more.
void ServedVersion::check_previous(TimePoint now) {
  std::shared_ptr<ServedVersion> before = previous();
  if (!before) return;
  while (before && (!before->sequences_ || before->sequences_->open() == 0)) before = before->previous();
  if (before) timer_.schedule(now + kBetweenChecks, weak_from_this());
  MutexLock lock(previous_mutex_);
  previous_.swap(before);  // whose last owner does not let it go under the lock
}

void ServedVersion::infer(InferRequest request, InferDone done) {
  if (sequences_ && !request.sequence.start && !sequences_->is_open(request.sequence.id))
    if (const auto before = previous(); before && before->keeps(request.sequence.id))
      return before->infer(std::move(request), std::move(done));
  if (request.arrived == TimePoint{}) request.arrived = clock_.now();
  Result<JobPtr> job = check_request(model_.settings, std::move(request));
  if (!job) return done(std::move(job).error());
  if (recorder_ != nullptr) recorder_->offer(model_.settings.name, (*job)->request);
  (*job)->done = std::move(done);
  if (cache_ != nullptr && is_cacheable(**job) &&
      answer_from_cache(*cache_, cache_owner_, model_.settings, statistics_, clock_, *job))
    return;
  if (!sequences_) {
    Round* const round = std::exchange((*job)->request.round, nullptr);
    if (round != nullptr) round->add(shared_from_this());
    if (auto rejection = schedulers_[0]->submit(std::move(*job), round != nullptr)) reject(std::move(*rejection));
    return;
  }
  Sequences::Due due;
  std::optional<Rejection> rejection = sequences_->add(std::move(*job), clock_.now(), due);
  if (rejection) reject(std::move(*rejection));
  go_on(std::move(due));
}

void ServedVersion::reject(Rejection rejection) {
  statistics_.record_failures(rejection.reason, 1, clock_.now() - rejection.job->request.arrived);
  finish(std::move(rejection.job), std::move(rejection.error));
}

// Gives the schedulers the requests of sequences whose turn has come, and refuses those whose sequence has ended.
void ServedVersion::go_on(Sequences::Due due) {
  for (size_t i = 0; i < due.run.size(); ++i) {  // a rejection may bring others
    JobPtr job = std::move(due.run[i]);
    Sequence& sequence = *job->sequence;
    std::optional<Rejection> rejection = schedulers_[sequence.instance]->submit(std::move(job));
    if (!rejection) continue;
    sequences_->end(sequence, false, clock_.now(), due);
    reject(std::move(*rejection));
  }
  const TimePoint now = clock_.now();
  refuse_unwanted(std::move(due.unwanted), now);
  refuse(std::move(due.lost), FailureReason::kRejected,
         invalid(fmt::format("an earlier request of this sequence to model '{}' was not run, which ended the sequence; "
                             "the next request must specify the START flag",
                             model_.settings.name)),
         now);
  if (due.expire != TimePoint::max()) timer_.schedule(due.expire, weak_from_this());
  if (sequences_->drained())
    for (const auto& scheduler : schedulers_) scheduler->close();
}

// Before the answers: a client that has one may rely on it.
void ServedVersion::end_in_sequences(const Jobs& jobs, bool ran) {
  if (!sequences_) return;
  Sequences::Due due;
  for (const JobPtr& job : jobs)
    if (Sequence* sequence = std::exchange(job->sequence, nullptr)) sequences_->end(*sequence, ran, clock_.now(), due);
  go_on(std::move(due));
}

void ServedVersion::hurry() {
  if (const auto before = previous()) before->hurry();
  for (const auto& scheduler : schedulers_) scheduler->hurry();
}

// Requests behind others of their sequence still go to the schedulers; go_on() closes those after the last.
void ServedVersion::close() {
  if (!sequences_) return schedulers_[0]->close();
  Sequences::Due due;
  sequences_->close(due);
  hurry();
  go_on(std::move(due));
}

void ServedVersion::write_stages(std::span<const JobPtr> jobs, const BatchTimes& times) const {
  int64_t rows = 0;
  for (const JobPtr& job : jobs) rows += job->rows;
  for (const JobPtr& job : jobs)
    if (job->request.stages)
      *job->request.stages = {.queued = job->queued,
                              .started = times.started,
                              .inputs_ready = times.inputs_ready,
                              .computed = times.computed,
                              .outputs_ready = times.outputs_ready,
                              .version = model_.settings.version,
                              .batch_rows = rows,
                              .batch_requests = static_cast<int64_t>(jobs.size())};
}

// A batch that fails is run again request by request: one of them may be the reason, and it alone gets the error.
Result<std::vector<InferResponse>> ServedVersion::run(BatchRunner& runner, std::span<const JobPtr> jobs) {
  BatchTimes times;
  Result<std::vector<InferResponse>> answers = runner.run(jobs, times);
  write_stages(jobs, times);
  if (answers) {
    statistics_.record_execution(jobs, times, static_cast<uint64_t>(now_in_ms_since_epoch()));
    for (InferResponse& answer : *answers)
      answer.times = {times.inputs_ready - times.started, times.computed - times.inputs_ready,
                      times.outputs_ready - times.computed};
    return answers;
  }
  if (jobs.size() == 1 || answers.error().code == Code::kUnavailable) {  // broken off
    statistics_.record_failures(FailureReason::kBackend, jobs.size(), time_in_server(jobs, times.outputs_ready));
    return answers;
  }
  std::vector<InferResponse> each(jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    Result<std::vector<InferResponse>> alone = run(runner, jobs.subspan(i, 1));
    if (alone)
      each[i] = std::move(alone->front());
    else
      jobs[i]->failure = std::move(alone).error();
  }
  return each;
}

void ServedVersion::work(size_t instance) {
  if (!model_.hosts.empty())
    if (const Status kept = keep_to(model_.hosts[instance]); !kept)
      log::error("model '{}': {}", model_.settings.name, kept.error().message);
  Scheduler& scheduler = scheduler_of(instance);
  Batch batch;
  while (scheduler.take(batch) && run_batch(instance, batch)) {
  }
}

// Serves requests without sequences: those of sequences wait for each other, so that there is at most one of each.
void ServedVersion::end_round() {
  Scheduler& scheduler = *schedulers_[0];
  if (!lends_) return scheduler.wake();
  Batch batch;
  int runs = 0;
  while (runs < kMostBorrowed && scheduler.borrow(batch)) {
    ++runs;
    if (!run_batch(0, batch)) break;
  }
  runs > 0 ? scheduler.give_back(batch) : scheduler.wake();
}

// False: the run was given up, and so is the instance.
bool ServedVersion::run_batch(size_t instance, Batch& batch) {
  refuse_unwanted(std::exchange(batch.unwanted, {}), clock_.now());
  Result<std::vector<InferResponse>> answers = std::vector<InferResponse>();
  if (!batch.jobs.empty()) {
    if (sequences_)
      std::sort(batch.jobs.begin(), batch.jobs.end(),
                [](const JobPtr& a, const JobPtr& b) { return *a->sequence->slot < *b->sequence->slot; });
    if (const auto due = watch_.begin(instance, batch.jobs, batch.ticket, clock_.now()))
      timer_.schedule(*due, weak_from_this());
    answers = run(*runners_[instance], batch.jobs);
    const RunWatch::End end = watch_.end(instance);
    if (end == RunWatch::End::kGivenUp) return false;
    if (end == RunWatch::End::kBrokenOff) {
      model_.sessions[instance]->resume();
      if (!answers) answers = too_long();
    }
  }
  end_in_sequences(batch.jobs, true);
  if (!model_.settings.preserve_ordering || model_.sessions.size() == 1) {
    answer(std::exchange(batch.jobs, {}), std::move(answers));
    return true;
  }
  auto later = std::make_shared<std::pair<Jobs, Result<std::vector<InferResponse>>>>(std::exchange(batch.jobs, {}),
                                                                                     std::move(answers));
  delivery_.bring(batch.ticket, [this, later] { answer(std::move(later->first), std::move(later->second)); });
  return true;
}

void ServedVersion::answer(Jobs jobs, Result<std::vector<InferResponse>> answers) {
  for (size_t i = 0; i < jobs.size(); ++i) {
    const std::optional<Error> failure = answers ? jobs[i]->failure : std::optional(answers.error());
    if (!failure && jobs[i]->cache_key) keep_answer(*cache_, statistics_, clock_, *jobs[i], (*answers)[i]);
    finish(std::move(jobs[i]), failure ? Result<InferResponse>(*failure) : std::move((*answers)[i]));
  }
}

Error ServedVersion::too_long() const {
  return {Code::kUnavailable, fmt::format("model '{}' failed: the run took longer than {:g} s (--run-timeout-secs)",
                                          model_.settings.name, to_seconds(limit_.most))};
}

void ServedVersion::check_runs(TimePoint now) {
  RunWatch::Overdue overdue = watch_.check(now);
  for (const size_t instance : overdue.to_break_off) {
    log::warning("model '{}' version {}: a run took longer than {:g} s (--run-timeout-secs) and is broken off",
                 model_.settings.name, model_.settings.version, to_seconds(limit_.most));
    model_.sessions[instance]->terminate();
    watch_.broken_off(instance);
  }
  for (RunWatch::GivenUp& given_up : overdue.given_up) give_up(std::move(given_up));
  if (overdue.next) timer_.schedule(*overdue.next, weak_from_this());
}

// The engine did not end the run: the version serves no more, refuses what waits, and keeps the run's memory.
void ServedVersion::give_up(RunWatch::GivenUp given_up) {
  bool first = false;
  {
    MutexLock lock(ends_mutex_);
    first = !std::exchange(given_up_, true);
    if (states_[given_up.instance] == WorkerState::kWorks) {  // else it has ended just now
      states_[given_up.instance] = WorkerState::kGivenUp;
      ++runs_given_up_;
      self_ = shared_from_this();
      ends_.notify_all();
    }
  }
  for (const auto& scheduler : schedulers_) scheduler->close();
  if (first) {
    const std::string reason = fmt::format(
        "a run took longer than {:g} s (--run-timeout-secs) and did not end when it was broken off; load the model "
        "again",
        to_seconds(limit_.most));
    log::error("model '{}' version {} is given up: {}", model_.settings.name, model_.settings.version, reason);
    if (limit_.given_up) limit_.given_up(*this, reason);  // before its requests are answered
    refuse(remove([](const Job&) { return true; }), FailureReason::kRejected, {Code::kUnavailable, reason},
           clock_.now());
  }
  statistics_.record_failures(FailureReason::kBackend, given_up.requests.size(), given_up.time_in_server);
  auto answer_all = [requests = std::move(given_up.requests), why = too_long()] {
    for (const InferDone& done : requests) done(why);
  };
  if (model_.settings.preserve_ordering && model_.sessions.size() > 1)
    delivery_.bring(given_up.ticket, std::move(answer_all));
  else
    answer_all();
}

void ServedVersion::expire(TimePoint now) {
  if (watch_.watches()) check_runs(now);
  Jobs expired;
  for (const auto& scheduler : schedulers_) std::ranges::move(scheduler->expire(now), std::back_inserter(expired));
  auto late = std::stable_partition(expired.begin(), expired.end(),
                                    [now](const JobPtr& job) { return job->request.deadline > now; });
  refuse_unwanted(Jobs(std::move_iterator(late), std::move_iterator(expired.end())), now);
  expired.erase(late, expired.end());
  refuse(std::move(expired), FailureReason::kQueueTimeout,
         {Code::kUnavailable, "Request timeout expired in the queue of model '" + model_.settings.name + "'"}, now);
  if (!sequences_) return;
  check_previous(now);
  Sequences::Due due;
  sequences_->expire(now, due);
  go_on(std::move(due));
}

// The waiting jobs that are `unwanted`. Those that wait for them in their sequence are refused.
Jobs ServedVersion::remove(const std::function<bool(const Job&)>& unwanted) {
  Jobs removed;
  if (sequences_) {
    Sequences::Due due;
    sequences_->remove(unwanted, due);
    removed = std::exchange(due.unwanted, {});
    go_on(std::move(due));
  }
  for (const auto& scheduler : schedulers_) std::ranges::move(scheduler->remove(unwanted), std::back_inserter(removed));
  return removed;
}

void ServedVersion::drop_cancelled() {
  if (const auto before = previous()) before->drop_cancelled();
  refuse_unwanted(remove([](const Job& job) { return job.request.cancelled.stop_requested(); }), clock_.now());
}

// Jobs whose clients have left, or whose deadline has passed.
void ServedVersion::refuse_unwanted(Jobs jobs, TimePoint now) {
  if (jobs.empty()) return;
  auto left = std::stable_partition(jobs.begin(), jobs.end(),
                                    [](const JobPtr& job) { return !job->request.cancelled.stop_requested(); });
  refuse(Jobs(std::move_iterator(left), std::move_iterator(jobs.end())), FailureReason::kCancelled,
         {Code::kCancelled, "the client has left"}, now);
  jobs.erase(left, jobs.end());
  refuse(std::move(jobs), FailureReason::kCancelled,
         {Code::kTimeout, "the client's deadline passed in the queue of model '" + model_.settings.name + "'"}, now);
}

void ServedVersion::abort() {
  if (const auto before = previous()) before->abort();
  refuse(remove([](const Job&) { return true; }), FailureReason::kRejected, shutting_down(), clock_.now());
  for (auto& session : model_.sessions) session->terminate();
}

// Jobs that leave the queue without a run.
void ServedVersion::refuse(Jobs jobs, FailureReason reason, Error why, TimePoint now) {
  if (jobs.empty()) return;
  statistics_.record_failures(reason, jobs.size(), time_in_server(jobs, now));
  end_in_sequences(jobs, false);
  answer(std::move(jobs), std::move(why));
}

ModelStatistics ServedVersion::statistics() const {
  ModelStatistics statistics = statistics_.snapshot();
  statistics.name = model_.settings.name;
  statistics.version = model_.settings.version;
  statistics.pending = sequences_ ? sequences_->waiting() : 0;
  for (const auto& scheduler : schedulers_) statistics.pending += scheduler->waiting();
  statistics.load_ns = static_cast<uint64_t>(model_.load_time.count());
  if (model_.bounds != nullptr) statistics.bound_ns = model_.bounds->of(statistics.batches);
  statistics.file_bytes = model_.file_bytes;
  statistics.metric_tags = model_.settings.metric_tags;
  return statistics;
}

}  // namespace ridge::serve
