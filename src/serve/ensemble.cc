#include "serve/ensemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utc.h"
#include "serve/cached_answers.h"
#include "serve/ensemble_run.h"
#include "serve/request_check.h"

namespace ridge::serve {
namespace {

constexpr size_t kMostRuns = 1000;  // of models for one request

FailureReason reason_of(Code code) {
  switch (code) {
    case Code::kCancelled:
    case Code::kTimeout: return FailureReason::kCancelled;
    case Code::kUnavailable: return FailureReason::kRejected;
    case Code::kFailed: return FailureReason::kBackend;
    default: return FailureReason::kOther;
  }
}

// The versions that answer, those of ensembles among them included.
void add_versions(const EnsembleParts& parts, std::vector<std::weak_ptr<const Servable>>& versions) {
  for (const EnsembleParts::Part& part : parts.steps) {
    versions.emplace_back(part.version);
    if (part.parts) add_versions(*part.parts, versions);
  }
}

bool is_same(const std::weak_ptr<const Servable>& a, const std::weak_ptr<const Servable>& b) {
  return !a.owner_before(b) && !b.owner_before(a);
}

}  // namespace

Ensemble::Ensemble(LoadedEnsemble loaded, Find find, Clock& clock, std::shared_ptr<ResponseCache> cache)
    : TensorModel({.tensors = this, .ensemble = this, .encoder = Error{Code::kUnsupported, "it is an ensemble"}}),
      loaded_(std::move(loaded)),
      find_(std::move(find)),
      clock_(clock),
      cache_(loaded_.settings.response_cache ? std::move(cache) : nullptr) {}

Ensemble::~Ensemble() {
  MutexLock lock(cache_mutex_);
  if (cache_ != nullptr) cache_->drop(cache_owner_);
}

std::vector<std::string> Ensemble::models() const {
  std::vector<std::string> names;
  for (const EnsembleStep& step : loaded_.plan.steps)
    if (std::find(names.begin(), names.end(), step.model) == names.end()) names.push_back(step.model);
  return names;
}

Result<PartsPtr> Ensemble::find_parts() const {
  auto parts = std::make_shared<EnsembleParts>(EnsembleParts{loaded_.settings, loaded_.plan, {}});
  std::vector<const ModelSettings*> models;
  const auto not_ready = [&](const Error& why, size_t step) {
    return Error{Code::kUnavailable, fmt::format("ensemble '{}' is not ready: {}: {}", loaded_.settings.name,
                                                 step_text(loaded_.plan, step), why.message)};
  };
  for (size_t i = 0; i < loaded_.plan.steps.size(); ++i) {
    const EnsembleStep& step = loaded_.plan.steps[i];
    Result<VersionPtr> version = find_(step.model, step.version);
    if (!version) return not_ready(version.error(), i);
    if (const Result<TensorModel*> tensors = tensor_model(**version); !tensors) return not_ready(tensors.error(), i);
    Result<PartsPtr> own = ensemble_parts(**version);
    if (!own) return not_ready(own.error(), i);
    parts->runs += *own ? (*own)->runs : 1;
    if (parts->runs > kMostRuns)
      return not_ready(Error{Code::kUnavailable, fmt::format("a request would run more than {} models", kMostRuns)}, i);
    models.push_back(&(*version)->settings());
    parts->steps.push_back({std::move(*version), std::move(*own)});
  }
  if (Status fits = check_models(loaded_.settings, loaded_.plan, models); !fits)
    return Error{Code::kUnavailable,
                 fmt::format("ensemble '{}' does not fit its models: {}", loaded_.settings.name, fits.error().message)};
  RIDGE_TRY(check_cacheable(*parts));
  return PartsPtr(std::move(parts));
}

std::vector<std::string> ensemble_models(const Servable& version) {
  return version.offers.ensemble != nullptr ? version.offers.ensemble->models() : std::vector<std::string>();
}

Result<PartsPtr> ensemble_parts(const Servable& version) {
  return version.offers.ensemble != nullptr ? version.offers.ensemble->find_parts() : PartsPtr();
}

// An answer of a sequence depends on the requests before.
Status Ensemble::check_cacheable(const EnsembleParts& parts) const {
  if (!loaded_.settings.response_cache) return {};
  for (const EnsembleParts::Part& part : parts.steps) {
    if (part.version->settings().sequences)
      return Error{
          Code::kUnavailable,
          fmt::format("ensemble '{}' has response_cache, but model '{}' has sequence_batching; remove one of them",
                      loaded_.settings.name, part.version->settings().name)};
    if (part.parts) RIDGE_TRY(check_cacheable(*part.parts));
  }
  return {};
}

// When one of its models is another one, all answers are forgotten.
uint64_t Ensemble::cache_owner(const EnsembleParts& parts) {
  SeenVersions versions;
  add_versions(parts, versions);
  MutexLock lock(cache_mutex_);
  if (!std::ranges::equal(versions, cached_of_, is_same)) {
    cache_->drop(cache_owner_);
    cache_owner_ = cache_->new_owner();
    cached_of_ = std::move(versions);
  }
  return cache_owner_;
}

void Ensemble::infer(InferRequest request, InferDone done) {
  if (request.arrived == TimePoint{}) request.arrived = clock_.now();
  PartsPtr parts = std::exchange(request.parts, nullptr);
  if (!parts) {
    Result<PartsPtr> found = find_parts();
    if (!found) return done(std::move(found).error());
    parts = std::move(*found);
  }
  Result<JobPtr> job = check_request(loaded_.settings, std::move(request));
  if (!job) return done(std::move(job).error());
  (*job)->done = std::move(done);
  if (cache_ != nullptr && is_cacheable(**job) &&
      answer_from_cache(*cache_, cache_owner(*parts), loaded_.settings, statistics_, clock_, *job))
    return;
  bool closed = false;
  {
    MutexLock lock(mutex_);
    closed = closed_;
    if (!closed) ++running_;
  }
  if (closed)
    return finish(std::move(*job),
                  Error{Code::kUnavailable, fmt::format("model '{}' is being unloaded", loaded_.settings.name)});
  std::make_shared<EnsembleRun>(std::move(*job), std::move(parts), aborted_, clock_,
                                [self = shared_from_this()](JobPtr ended, Result<InferResponse> answer) {
                                  self->end(std::move(ended), std::move(answer));
                                })
      ->start();
}

void Ensemble::end(JobPtr job, Result<InferResponse> answer) {
  if (answer && job->cache_key) keep_answer(*cache_, statistics_, clock_, *job, *answer);
  const Nanoseconds latency = clock_.now() - job->request.arrived;
  if (answer)
    statistics_.record_ensemble(static_cast<uint64_t>(job->rows), latency, answer->times,
                                static_cast<uint64_t>(now_in_ms_since_epoch()));
  else
    statistics_.record_failures(reason_of(answer.error().code), 1, latency);
  finish(std::move(job), std::move(answer));
  MutexLock lock(mutex_);
  --running_;
  ended_.notify_all();
}

void Ensemble::close() {
  MutexLock lock(mutex_);
  closed_ = true;
}

void Ensemble::join() {
  MutexLock lock(mutex_);
  while (running_ > 0) ended_.wait(lock);
}

ModelStatistics Ensemble::statistics() const {
  ModelStatistics statistics = statistics_.snapshot();
  statistics.name = loaded_.settings.name;
  statistics.version = loaded_.settings.version;
  statistics.load_ns = static_cast<uint64_t>(loaded_.load_time.count());
  statistics.metric_tags = loaded_.settings.metric_tags;
  return statistics;
}

}  // namespace ridge::serve
