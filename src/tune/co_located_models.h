// Co-located models: open at once in this process, and busy at once: a closed loop per caller of every model, all of
// them from the first moment of a slice to the last, so that every counted run ran beside the others. One thread; the
// callers' threads are measure/load's, and run_at_loads() has one per model beside them.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/disturbance.h"
#include "measure/runner.h"
#include "model/graph.h"
#include "plan/plan.h"

namespace ridge::tune {

struct ModelToOpen {
  plan::Plan plan;
  const model::Graph* graph = nullptr;  // says which integers are valid inputs; may be null
};

// One model's results in one slice, beside the others.
struct ModelSlice {
  std::vector<double> latencies_ms;  // in time order
  double rows_per_s = 0;
  measure::Stages sums_ms;  // input, compute and output over the sampled runs, scaled to all runs
};

class CoLocatedModels {
 public:
  // Opens all, in order, and runs each session once. The error of one of several names its file.
  static Result<CoLocatedModels> open(std::span<const ModelToOpen> models, uint64_t seed, Clock& clock,
                                      double seconds = 0);

  // Every instance of every model runs repeatedly for about `ms`, each at least once. Errors: a run's, kCancelled.
  // `watch` looks before the callers' threads end; may be null.
  Result<std::vector<ModelSlice>> run_slice(double ms, const std::function<bool()>& interrupted,
                                            machine::DisturbanceWatch* watch = nullptr);

  // All models at once for `seconds`, each under its own load of runs with random arrivals (Poisson), independent of
  // the others; one without a load is kept busy. Latency counts from a run's intended start. Errors as run_slice().
  Result<std::vector<ModelSlice>> run_at_loads(std::span<const std::optional<double>> runs_per_s, double seconds,
                                               uint64_t seed, const std::function<bool()>& interrupted);

  measure::Runner& runner(size_t model) { return runners_[model]; }
  size_t size() const { return runners_.size(); }
  int callers() const { return static_cast<int>(callers_.size()); }
  double slowest_first_run_ms() const;
  // Growth of the process while they were opened and while they ran.
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
