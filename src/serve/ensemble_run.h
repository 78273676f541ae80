// EnsembleRun: one request on its way through the steps of an ensemble. A step starts as soon as its tensors are there;
// independent branches run at the same time. No thread waits: the end of a step begins those after it.
//
// Tensors are passed as they are: a step's output is the next step's input, in the memory of the engine that wrote it,
// which is kept for as long as a step or the answer needs it. Only steps that wanted outputs depend on are run. The
// first failure ends the request, once no step of it runs any more; those that wait in a queue are taken out.
//
// Thread-safe; keeps itself alive until the end.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "serve/ensemble_plan.h"
#include "serve/job.h"
#include "serve/servable.h"

namespace ridge::serve {

// The models of an ensemble for one request, held until it has ended.
struct EnsembleParts {
  struct Part {
    VersionPtr version;
    PartsPtr parts;  // of an ensemble
  };
  const ModelSettings& settings;  // these two are the ensemble's
  const EnsemblePlan& plan;
  std::vector<Part> steps;
  size_t runs = 0;  // of models for a request, by the ensembles among the steps too
};

class EnsembleRun : public std::enable_shared_from_this<EnsembleRun> {
 public:
  using End = std::function<void(JobPtr, Result<InferResponse>)>;
  // `end` is called once. `aborted`: no further step begins. Both and `clock` outlive it; `end` may own them.
  EnsembleRun(JobPtr job, PartsPtr parts, const std::atomic<bool>& aborted, Clock& clock, End end);
  void start();

 private:
  // A tensor that is there.
  struct Value {
    RequestInput tensor;  // kInvalid: an optional input that was left out
    std::shared_ptr<const void> owner;
    bool batched = false;
    size_t uses = 0;  // that are still to come: inputs of steps, and the answer
  };
  void use(size_t tensor, std::vector<size_t>& steps) RIDGE_REQUIRES(mutex_);
  void choose_steps() RIDGE_REQUIRES(mutex_);
  void add_value(size_t tensor, RequestInput value, std::shared_ptr<const void> owner, bool batched)
      RIDGE_REQUIRES(mutex_);
  void advance();
  void begin_step(size_t step);
  Status check_wanted() const;
  void set_inputs(const EnsembleStep& step, const ModelSettings& model, InferRequest& request);
  void set_outputs(const EnsembleStep& step, InferRequest& request);
  void end_step(size_t step, Result<InferResponse> answer);
  Status add_outputs(size_t step, InferResponse& answer) RIDGE_REQUIRES(mutex_);
  void fail(size_t step, Error error) RIDGE_REQUIRES(mutex_);
  void drop_others();
  void finish();
  Result<InferResponse> answer();
  Result<ResponseOutput> output(const WantedOutput& wanted);

  JobPtr job_;  // unchanged until the end
  const PartsPtr parts_;
  const std::atomic<bool>& aborted_;
  Clock& clock_;
  const End end_;
  const TimePoint begun_;
  std::stop_source stop_;  // of the steps: the client has left, or one has failed
  std::optional<std::stop_callback<std::function<void()>>> on_cancel_;

  Mutex mutex_;
  std::vector<Value> values_ RIDGE_GUARDED_BY(mutex_);    // of each tensor of the plan
  std::vector<size_t> missing_ RIDGE_GUARDED_BY(mutex_);  // of each step: inputs that are not there
  std::vector<bool> needed_ RIDGE_GUARDED_BY(mutex_);     // steps that wanted outputs depend on
  std::deque<size_t> due_ RIDGE_GUARDED_BY(mutex_);       // steps whose inputs are there
  size_t running_ RIDGE_GUARDED_BY(mutex_) = 0;           // steps that have begun and not ended
  bool advancing_ RIDGE_GUARDED_BY(mutex_) = false;       // a thread begins the steps that are due
  std::optional<Error> failure_ RIDGE_GUARDED_BY(mutex_);
  ComputeTimes times_ RIDGE_GUARDED_BY(mutex_);
};

}  // namespace ridge::serve
