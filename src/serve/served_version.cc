#include "serve/served_version.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/utc.h"
#include "serve/batch_runner.h"
#include "serve/request_check.h"

namespace ridge::serve {
namespace {

Nanoseconds time_in_server(const Jobs& jobs, TimePoint now) {
  Nanoseconds total{0};
  for (const JobPtr& job : jobs) total += now - job->request.arrived;
  return total;
}

}  // namespace

ServedVersion::ServedVersion(LoadedModel model, DeadlineTimer& timer, Clock& clock, Recorder* recorder)
    : model_(std::move(model)),
      timer_(timer),
      clock_(clock),
      recorder_(recorder),
      scheduler_(model_.settings.queue, model_.settings.fixed_input_shapes, clock,
                 [this](TimePoint due) { timer_.schedule(due, weak_from_this()); }) {}

ServedVersion::~ServedVersion() {
  close();
  join();
}

void ServedVersion::start() {
  for (auto& session : model_.sessions) workers_.emplace_back([this, &engine = *session] { work(engine); });
}

void ServedVersion::join() {
  for (std::jthread& worker : workers_)
    if (worker.joinable()) worker.join();
}

void ServedVersion::infer(InferRequest request, InferDone done) {
  if (request.arrived == TimePoint{}) request.arrived = clock_.now();
  Result<JobPtr> job = check_request(model_.settings, std::move(request));
  if (!job) return done(std::move(job).error());
  if (recorder_ != nullptr) recorder_->offer(model_.settings.name, (*job)->request);
  (*job)->done = std::move(done);
  if (std::optional<Rejection> rejection = scheduler_.submit(std::move(*job))) {
    statistics_.record_failures(FailureReason::kRejected, 1, clock_.now() - rejection->job->request.arrived);
    finish(std::move(rejection->job), std::move(rejection->error));
  }
}

// A batch that fails is run again request by request: one of them may be the reason, and it alone gets the error.
Result<std::vector<InferResponse>> ServedVersion::run(BatchRunner& runner, std::span<const JobPtr> jobs) {
  BatchTimes times;
  Result<std::vector<InferResponse>> answers = runner.run(jobs, times);
  if (answers) {
    statistics_.record_execution(jobs, times, static_cast<uint64_t>(now_in_ms_since_epoch()));
    return answers;
  }
  if (jobs.size() == 1) {
    statistics_.record_failures(FailureReason::kBackend, 1, times.outputs_ready - jobs[0]->request.arrived);
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

void ServedVersion::work(engine::Session& session) {
  BatchRunner runner(model_.settings, session, clock_);
  Batch batch;
  while (scheduler_.take(batch)) {
    give_up(std::exchange(batch.unwanted, {}), clock_.now());
    Result<std::vector<InferResponse>> answers = std::vector<InferResponse>();
    if (!batch.jobs.empty()) answers = run(runner, batch.jobs);
    if (!model_.settings.preserve_ordering || model_.sessions.size() == 1) {
      answer(std::exchange(batch.jobs, {}), std::move(answers));
      continue;
    }
    auto later = std::make_shared<std::pair<Jobs, Result<std::vector<InferResponse>>>>(std::exchange(batch.jobs, {}),
                                                                                       std::move(answers));
    delivery_.bring(batch.ticket, [this, later] { answer(std::move(later->first), std::move(later->second)); });
  }
}

void ServedVersion::answer(Jobs jobs, Result<std::vector<InferResponse>> answers) const {
  for (size_t i = 0; i < jobs.size(); ++i) {
    const std::optional<Error> failure = answers ? jobs[i]->failure : std::optional(answers.error());
    finish(std::move(jobs[i]), failure ? Result<InferResponse>(*failure) : std::move((*answers)[i]));
  }
}

void ServedVersion::expire(TimePoint now) {
  Jobs expired = scheduler_.expire(now);
  auto late = std::stable_partition(expired.begin(), expired.end(),
                                    [now](const JobPtr& job) { return job->request.deadline > now; });
  give_up(Jobs(std::move_iterator(late), std::move_iterator(expired.end())), now);
  expired.erase(late, expired.end());
  refuse(std::move(expired), FailureReason::kRejected,
         {Code::kUnavailable, "Request timeout expired in the queue of model '" + model_.settings.name + "'"}, now);
}

void ServedVersion::drop_cancelled() {
  give_up(scheduler_.remove([](const Job& job) { return job.request.cancelled.stop_requested(); }), clock_.now());
}

// Jobs whose clients have left, or whose deadline has passed.
void ServedVersion::give_up(Jobs jobs, TimePoint now) {
  auto left = std::stable_partition(jobs.begin(), jobs.end(),
                                    [](const JobPtr& job) { return !job->request.cancelled.stop_requested(); });
  refuse(Jobs(std::move_iterator(left), std::move_iterator(jobs.end())), FailureReason::kCancelled,
         {Code::kCancelled, "the client has left"}, now);
  jobs.erase(left, jobs.end());
  refuse(std::move(jobs), FailureReason::kCancelled,
         {Code::kTimeout, "the client's deadline passed in the queue of model '" + model_.settings.name + "'"}, now);
}

void ServedVersion::abort() {
  refuse(scheduler_.remove([](const Job&) { return true; }), FailureReason::kRejected, shutting_down(), clock_.now());
  for (auto& session : model_.sessions) session->terminate();
}

// Jobs that leave the queue without a run.
void ServedVersion::refuse(Jobs jobs, FailureReason reason, Error why, TimePoint now) {
  if (jobs.empty()) return;
  statistics_.record_failures(reason, jobs.size(), time_in_server(jobs, now));
  answer(std::move(jobs), std::move(why));
}

ModelStatistics ServedVersion::statistics() const {
  ModelStatistics statistics = statistics_.snapshot();
  statistics.name = model_.settings.name;
  statistics.version = model_.settings.version;
  statistics.pending = scheduler_.waiting();
  statistics.load_ns = static_cast<uint64_t>(model_.load_time.count());
  statistics.metric_tags = model_.settings.metric_tags;
  return statistics;
}

}  // namespace ridge::serve
