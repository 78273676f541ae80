// Ensemble: a version whose answers come from other models of this server, run as its plan says (ensemble_run.h). It
// has no sessions, no threads and no queue of its own: its steps wait in the queues of their models.
//
// It does not hold its models while no request is under way: each request finds those that serve, and keeps them to its
// end. So they may be reloaded and unloaded, and the ensemble serves only while they do and fit.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "serve/ensemble_plan.h"
#include "serve/job.h"
#include "serve/servable.h"
#include "serve/statistics.h"

namespace ridge::serve {

struct LoadedEnsemble {
  ModelSettings settings;
  EnsemblePlan plan;
  std::shared_ptr<const Json> config;  // completed, as the wire has it
  Nanoseconds load_time{};
  std::string fingerprint;
  std::shared_ptr<const void> files;  // keeps temporary files alive; may be empty
};

class Ensemble final : public TensorModel, public std::enable_shared_from_this<Ensemble> {
 public:
  // Signature of ModelTable::find.
  using Find = std::function<Result<VersionPtr>(const std::string& model, int64_t version)>;
  // `clock` and what `find` needs outlive it. `cache`: used if the configuration enables it; may be null.
  Ensemble(LoadedEnsemble loaded, Find find, Clock& clock, std::shared_ptr<ResponseCache> cache = nullptr);
  ~Ensemble() override;

  const ModelSettings& settings() const override { return loaded_.settings; }
  const Json& config() const override { return *loaded_.config; }
  const std::string& fingerprint() const override { return loaded_.fingerprint; }
  ModelStatistics statistics() const override;
  // Those of its steps, by name; each once.
  std::vector<std::string> models() const;
  // Those models as they serve now, held. kUnavailable: one of them does not serve, or does not fit.
  Result<PartsPtr> find_parts() const;

  void infer(InferRequest request, InferDone done) override;
  void abort() override { aborted_ = true; }
  void close() override;
  void join() override;

 private:
  // Not owned, and still told from those that come later at the same address.
  using SeenVersions = std::vector<std::weak_ptr<const Servable>>;

  Status check_cacheable(const EnsembleParts& parts) const;
  uint64_t cache_owner(const EnsembleParts& parts);
  void end(JobPtr job, Result<InferResponse> answer);

  const LoadedEnsemble loaded_;
  const Find find_;
  Clock& clock_;
  const std::shared_ptr<ResponseCache> cache_;  // null: not used
  Mutex cache_mutex_;
  SeenVersions cached_of_ RIDGE_GUARDED_BY(cache_mutex_);  // whose answers are kept, of all its steps
  uint64_t cache_owner_ RIDGE_GUARDED_BY(cache_mutex_) = 0;
  Statistics statistics_;
  std::atomic<bool> aborted_{false};
  Mutex mutex_;
  ConditionVariable ended_;
  size_t running_ RIDGE_GUARDED_BY(mutex_) = 0;  // requests
  bool closed_ RIDGE_GUARDED_BY(mutex_) = false;
};

// Of what is no ensemble: none, and null.
std::vector<std::string> ensemble_models(const Servable& version);
Result<PartsPtr> ensemble_parts(const Servable& version);

}  // namespace ridge::serve
