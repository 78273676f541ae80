// Tuning: the result of a tuning run, beside the untuned baseline and the machine's limit. The `tune` JSON contract.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cost/costs.h"
#include "machine/machine.h"
#include "measure/measurement.h"
#include "precision/deviation.h"
#include "tune/admission.h"
#include "tune/batching.h"
#include "tune/replay.h"
#include "tune/share/proof.h"
#include "tune/target.h"
#include "tune/tuner.h"

namespace ridge::tune {

// The answer of another goal, from the front: highest throughput or lowest p99, if it differs from the winner.
struct Alternative {
  std::string objective;  // as --for takes it
  Standing standing;
};
void visit_fields(auto& visit, Is<Alternative> auto& alternative) {
  visit("for", alternative.objective);
  visit_fields(visit, alternative.standing);
}

struct Tuning {
  machine::Machine machine;
  Goal goal;
  std::string shapes;                   // of the inputs at batch 1
  measure::Measurement baseline, best;  // from one interleaved trial
  Candidate candidate;                  // what `best` is
  Choice choice = Choice::kBaseline;
  Gain gain;                  // of the objective, best over baseline
  std::vector<double> gains;  // ln of that, per round
  RoundFigures rounds;        // of the same rounds
  double noise_percent = 0;   // half-width of the interval of the baseline against itself, same number of slices
  precision::Deviation
      deviation;  // of `best` on held-out samples; in FP32 in the base engine, from the untuned outputs on its inputs
  VariantSelection
      admission;  // the searched variants with their accuracy verdicts, and the rejected ones, with reasons
  double baseline_joules_per_row = 0, best_joules_per_row = 0;  // 0 = not measured
  std::string energy;                                           // the counters, or why nothing was measured
  // At the machine's speed while `baseline` was measured (tune/front.h).
  std::vector<Standing> pareto;
  std::vector<Alternative> alternatives;
  std::vector<Standing> points;                     // all that was measured
  std::vector<BatchPoint> curve;                    // of the chosen layout over the batch
  BatchingAdvice batching_advice;                   // the resulting advice
  std::optional<BatchingOutlook> batching_outlook;  // prediction from the limits
  std::optional<Replay> replay;                     // of a full search: result of the quick one
  int trials = 0, reused = 0;                       // measurements of the search; of them from the store
  int candidates = 0, measured = 0;                 // of the space
  std::vector<SkipCount> skipped;
  bool interrupted = false;
  bool confirmed = true;                 // false: the winner was chosen by the search's own trials, for lack of time
  std::vector<std::string> not_done;     // for lack of time, one sentence each
  std::optional<share::AtLoad> at_load;  // the winner at the goal's load; absent: no load, or not measured
  std::optional<machine::Disturbance> disturbance;  // of the whole run; absent: not watched
  double seconds = 0;
  std::string batching;    // why rows are not merged; empty = they may be
  std::string repository;  // folder of the version written; empty = none
};

// Model and conditions.
struct TuningContext {
  const machine::Machine& machine;
  const plan::Plan& plan;  // at batch 1
  const engine::Info& info;
  std::span<const PricedImplementation> implementations;
  const Target& target;
};

// Limits of that many threads of the machine, or of the target GPU.
Result<cost::DeviceLimits> limits_for(const machine::Machine& machine, const Target& target, int threads);

// All but deviation, batching, seconds and repository. `untuned` is the baseline against itself.
Tuning summarise(const TuningContext& context, const Goal& goal, const Search& search, const Exploration& explored,
                 const Decision& decision, const Trial& untuned);

// Adds the run's disturbance, also to both measurements, which then carry an undisturbed estimate and no advice.
void add_disturbance(const machine::Disturbance& disturbance, Tuning& tuning);

// The untuned model beside its limit, before the search.
measure::Measurement untuned_measurement(const TuningContext& context, const Trial& untuned);

std::vector<Alternative> alternatives_of(const Tuning& tuning);

// The 95 % interval of the 99th percentile that the goal judges, where it includes the goal: at its load as measured
// there, of a request; else as judged_interval(). Absent: the goal is outside, or there is none.
std::optional<measure::Interval> undecided_goal(const Tuning& tuning);

// The largest measured batch that met the goal.
int64_t verified_batch(const Search& search);

// "input[1,3,224,224] mask[1,128]".
std::string shapes_text(const plan::Plan& plan);

NameTable<Choice> names_of(Choice);  // "tuned", "baseline", "none"
Json to_json(const Tuning& tuning);
// Reads the parts that the text of a result shows; derived members (alternatives excepted) are derived again.
Status read_json(const Json& json, Tuning& tuning);

}  // namespace ridge::tune
