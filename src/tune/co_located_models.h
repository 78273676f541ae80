// Co-located models: open at once in this process, and kept busy at once: a closed loop per caller of every model, all of them from
// the first moment of a slice to the last, so that every run that counts ran beside the others. One model alone is the simplest case.
// One thread; the callers' threads are measure/load's, and run_at_loads() has one per model beside them.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/runner.h"
#include "model/graph.h"
#include "plan/plan.h"

namespace ridge::tune {

struct ModelToOpen {
  plan::Plan plan;
  const model::Graph* graph = nullptr;  // says which integers are valid inputs; may be null
};

// What one model did in one slice, beside the others.
struct ModelSlice {
  std::vector<double> latencies_ms;  // in the order of time
  double rows_per_s = 0;
  measure::Stages sums_ms;  // input, compute and output over the runs that were asked for them, scaled to all runs
};

class CoLocatedModels {
 public:
  // Opens all, in order, and runs each session once. The error of one of several names its file.
  static Result<CoLocatedModels> open(std::span<const ModelToOpen> models, uint64_t seed, Clock& clock);

  // Every instance of every model runs again and again for about `ms`, each at least once. Errors: a run's, kCancelled.
  Result<std::vector<ModelSlice>> run_slice(double ms, const std::function<bool()>& interrupted);

  // All models at once for `seconds`, each at its own load of runs that come at random moments (Poisson), whatever the others
  // do; one without a load is kept busy. Latency counts from the moment a run should have begun. Errors as of run_slice().
  Result<std::vector<ModelSlice>> run_at_loads(std::span<const std::optional<double>> runs_per_s, double seconds,
                                               uint64_t seed, const std::function<bool()>& interrupted);

  measure::Runner& runner(size_t model) { return runners_[model]; }
  size_t size() const { return runners_.size(); }
  int callers() const { return static_cast<int>(callers_.size()); }
  double slowest_first_run_ms() const;
  // By how much the process grew while they were opened and while they ran.
  int64_t rss_delta_bytes() const { return rss_delta_bytes_; }

 private:
  struct Caller {
    size_t model;
    int number;  // of that model's runner
  };
  explicit CoLocatedModels(Clock& clock) : clock_(&clock) {}

  Clock* clock_;
  std::vector<measure::Runner> runners_;
  std::vector<Caller> callers_;
  int64_t rss_delta_bytes_ = 0;
};

}  // namespace ridge::tune
