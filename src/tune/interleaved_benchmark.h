// InterleavedBenchmark: opens models untuned once (each with its engine's defaults, batch 1) and measures candidates
// against them in interleaved slices (measure/interleave.h), so that disturbances longer than a slice affect both
// alike. For one model, or for several that share the machine: all models of an arm run at once.
//
// A candidate with several instances is as many sessions, each with its own caller; its rate counts rows. One thread;
// the callers' threads are measure/load's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "machine/disturbance.h"
#include "machine/energy_meter.h"
#include "model/graph.h"
#include "plan/plan.h"
#include "tune/co_located_models.h"
#include "tune/effort.h"
#include "tune/implementation.h"
#include "tune/trial.h"

namespace ridge::tune {

// Shared by all candidates of one model, and what they may name.
struct BenchmarkedModel {
  plan::Plan base;                      // engine, model, shapes at batch 1
  const model::Graph* graph = nullptr;  // says which integers are valid inputs; may be null
  std::vector<Implementation> implementations = {};
};

struct BenchmarkOptions {
  std::function<bool()> interrupted;                  // polled; may be empty
  Nanoseconds slice = std::chrono::milliseconds(60);  // at least; longer where one run is longer
  double seconds = 60;                                // of the whole search: a trial takes at most a share of it
  uint64_t seed = 1;                                  // of the inputs
  // Read around every slice, which is then at least kLeastEnergySteps of its steps; null = not measured.
  machine::EnergyMeter* energy = nullptr;
  machine::DisturbanceWatch* watch = nullptr;  // of this process; may be null
  std::optional<TimePoint> end_by;             // a trial takes no longer, but for its fewest rounds
};

// The models with a candidate each, open.
Result<CoLocatedModels> open_models(std::span<const BenchmarkedModel> models, std::span<const Candidate> candidates,
                                    uint64_t seed, Clock& clock, double seconds = 0);

class InterleavedBenchmark {
 public:
  static Result<std::unique_ptr<InterleavedBenchmark>> open(std::vector<BenchmarkedModel> models,
                                                            BenchmarkOptions options, Clock& clock = system_clock());
  // Candidates of the model may name these from now on.
  void admit(size_t model, std::vector<Implementation> implementations);

  // Ends the trials from now on.
  void end_by(TimePoint end) { options_.end_by = end; }

  // A candidate per model. A candidate that cannot be opened or run is a trial with `failure`; an Error means that the
  // untuned models failed, or kCancelled (partial measurements are dropped).
  Result<CoLocatedTrial> measure(std::span<const Candidate> candidates, Effort effort);
  // The same for the only model.
  Result<Trial> measure(const Candidate& candidate, Effort effort);

  const BenchmarkedModel& model(size_t index = 0) const { return models_[index]; }
  measure::Runner& untuned(size_t model = 0) { return untuned_.runner(model); }
  const BenchmarkOptions& options() const { return options_; }
  Clock& clock() { return clock_; }

 private:
  InterleavedBenchmark(std::vector<BenchmarkedModel> models, BenchmarkOptions options, CoLocatedModels untuned,
                       Clock& clock);
  const char* name_of_untuned() const;
  Result<double> typical_run_ms(CoLocatedModels& models, double warm_up_ms);

  std::vector<BenchmarkedModel> models_;
  BenchmarkOptions options_;
  Clock& clock_;
  CoLocatedModels untuned_;
  uint64_t trials_ = 0;
};

}  // namespace ridge::tune
