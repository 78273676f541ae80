// Contest: opens the baseline once and measures candidates in turns with it, slice by slice (A B B A A B …), so that
// what disturbs the machine for longer than a slice disturbs both alike.
//
// A candidate with several instances is as many sessions, each with a caller of its own; its rate counts rows. One
// thread; the callers' threads are measure/load's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "machine/energy_meter.h"
#include "model/graph.h"
#include "plan/plan.h"
#include "precision/drift.h"
#include "tune/trial.h"

namespace ridge::tune {

struct ContestOptions {
  std::function<bool()> interrupted;                  // polled; may be empty
  Nanoseconds slice = std::chrono::milliseconds(60);  // at least; longer where one run is longer
  double seconds = 60;                                // of the whole search: a trial takes a share of it at most
  uint64_t seed = 1;                                  // of the inputs
  // Read around every slice, which then is no shorter than kLeastEnergySteps of its steps; null = not measured.
  machine::EnergyMeter* energy = nullptr;
};

// Whether rows may be merged into one run.
struct Batching {
  bool possible = false;
  std::string reason;  // why not
};

class Contest {
 public:
  // Opens `base` (engine, model, shapes at batch 1) with the engine's defaults. `graph` tells which integers are valid
  // inputs; may be null.
  static Result<std::unique_ptr<Contest>> open(const plan::Plan& base, const model::Graph* graph,
                                               ContestOptions options);
  // Candidates may name these from now on.
  void admit(std::vector<Implementation> implementations);
  ~Contest();

  const engine::Signature& signature() const;
  const engine::Info& info() const;

  // A batch may be open in name only: checked by running two different rows together and each alone.
  Batching check_batching();

  // A candidate that cannot be opened or run is a Trial with `failure`; an Error means that the baseline itself failed,
  // or kCancelled that somebody interrupted (what was measured by then is dropped).
  Result<Trial> measure(const Candidate& candidate, Effort effort);

  // Outputs of the candidate's one run against the baseline's row by row, on the same inputs.
  Result<precision::Drift> drift(const Candidate& candidate);

 private:
  struct State;
  explicit Contest(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ridge::tune
