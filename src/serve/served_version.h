// ServedVersion: one loaded version of a model with its queue, its workers (one thread and one engine session per
// instance) and its statistics. A run longer than a limit is broken off; one that does not end even then costs the
// version its life, and the process its memory (RunWatch).
//
// Requests of sequences (sequences.h) pass through Sequences, which hands them to the scheduler of their instance when
// their turn comes. Others go to the one scheduler of all instances.
//
// Thread-safe. Life: load() → start() → infer()… → close() → join().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/mutex.h"
#include "engine/engine.h"
#include "serve/deadline_timer.h"
#include "serve/host_policy.h"
#include "serve/model_settings.h"
#include "serve/ordered_delivery.h"
#include "serve/recorder.h"
#include "serve/run_watch.h"
#include "serve/scheduler.h"
#include "serve/sequences.h"
#include "serve/servable.h"
#include "serve/server.h"
#include "serve/statistics.h"

namespace ridge::serve {

// The parts of a version; the sessions are warm.
struct LoadedModel {
  ModelSettings settings;
  std::shared_ptr<const Json> config;                      // completed, as the wire has it
  std::vector<std::unique_ptr<engine::Session>> sessions;  // one per instance
  std::vector<HostPolicy> hosts = {};                      // one per instance; empty: none has one
  Nanoseconds load_time{};
  std::unique_ptr<BatchBounds> bounds;  // null: not known
  bool bounded_runs = false;            // what a run does depends on the inputs' shapes alone, which are fixed
  uint64_t file_bytes = 0;              // of the model's file and its external data
  std::string fingerprint;              // of everything it was loaded from: equal = need not be loaded again
  std::shared_ptr<const void> files;    // keeps temporary files alive; may be empty
  Result<EncoderPtr> encoder{Error{Code::kUnsupported, "it has no tokenizer"}};  // an error: why there is none
};

class BatchRunner;

class ServedVersion : public TensorModel, public Expirable, public std::enable_shared_from_this<ServedVersion> {
 public:
  // `timer` and `clock` outlive it, as does `recorder`, which gets every accepted request; may be null. `cache`: used
  // if the configuration enables it; may be null. Shared, as a version that was given up may outlive its server.
  ServedVersion(LoadedModel model, DeadlineTimer& timer, Clock& clock, Recorder* recorder = nullptr,
                RunLimit limit = {}, std::shared_ptr<ResponseCache> cache = nullptr);
  ~ServedVersion() override;

  void start();
  // Sequences that are open in the previous version go on there, and it lives until the last has ended.
  void follow(const VersionPtr& previous) override;
  void infer(InferRequest request, InferDone done) override;
  void end_round() override;
  void hurry() override;
  void close() override;
  void drop_cancelled() override;
  void abort() override;
  void join() override;

  const ModelSettings& settings() const override { return model_.settings; }
  const Json& config() const override { return *model_.config; }
  const std::string& fingerprint() const override { return model_.fingerprint; }
  ModelStatistics statistics() const override;

  void expire(TimePoint now) override;

 private:
  void work(size_t instance);
  bool run_batch(size_t instance, Batch& batch);
  std::shared_ptr<ServedVersion> leave(size_t instance);
  void check_runs(TimePoint now);
  void give_up(RunWatch::GivenUp given_up);
  Error too_long() const;
  Result<std::vector<InferResponse>> run(BatchRunner& runner, std::span<const JobPtr> jobs);
  void write_stages(std::span<const JobPtr> jobs, const BatchTimes& times) const;
  void answer(Jobs jobs, Result<std::vector<InferResponse>> answers);
  std::shared_ptr<ServedVersion> previous() const;
  bool keeps(const SequenceId& id) const;
  void check_previous(TimePoint now);
  Scheduler& scheduler_of(size_t instance) const { return *schedulers_[sequences_ ? instance : 0]; }
  void go_on(Sequences::Due due);
  void end_in_sequences(const Jobs& jobs, bool ran);
  Jobs remove(const std::function<bool(const Job&)>& unwanted);
  void reject(Rejection rejection);
  void refuse_unwanted(Jobs jobs, TimePoint now);
  void refuse(Jobs jobs, FailureReason reason, Error why, TimePoint now);

  LoadedModel model_;
  DeadlineTimer& timer_;
  Clock& clock_;
  Recorder* const recorder_;
  const std::shared_ptr<ResponseCache> cache_;  // null: not used
  const uint64_t cache_owner_;
  std::unique_ptr<Sequences> sequences_;  // null: no sequence batching
  mutable Mutex previous_mutex_;
  std::shared_ptr<ServedVersion> previous_ RIDGE_GUARDED_BY(previous_mutex_);  // followed
  std::vector<std::unique_ptr<Scheduler>> schedulers_;                         // one; of sequences: one per instance
  const bool lends_;                                   // its instance to threads that bring requests
  std::vector<std::unique_ptr<BatchRunner>> runners_;  // one per instance
  OrderedDelivery delivery_;
  Statistics statistics_;
  const RunLimit limit_;
  RunWatch watch_;
  enum class WorkerState : uint8_t { kWorks, kGivenUp, kEnded };
  Mutex ends_mutex_;
  ConditionVariable ends_;
  std::vector<WorkerState> states_ RIDGE_GUARDED_BY(ends_mutex_);  // of the workers
  bool given_up_ RIDGE_GUARDED_BY(ends_mutex_) = false;
  int runs_given_up_ RIDGE_GUARDED_BY(ends_mutex_) = 0;                // that go on
  std::shared_ptr<ServedVersion> self_ RIDGE_GUARDED_BY(ends_mutex_);  // while they do
  std::vector<std::jthread> workers_;
};

}  // namespace ridge::serve
