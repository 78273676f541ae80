// Tuning: the result of a tuning run, beside the untuned baseline and the machine's limit. The `tune` JSON contract.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cost/costs.h"
#include "machine/machine.h"
#include "measure/measurement.h"
#include "precision/deviation.h"
#include "tune/admission.h"
#include "tune/batching.h"
#include "tune/replay.h"
#include "tune/tuner.h"

namespace ridge::tune {

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
      deviation;  // of `best` on held-out samples; in FP32 in the base engine, against the untuned outputs on its inputs
  VariantSelection
      admission;  // the searched variants with their accuracy verdicts, and the rejected ones, with reasons
  double baseline_joules_per_row = 0, best_joules_per_row = 0;  // 0 = not measured
  std::string energy;                                           // the counters, or why nothing was measured
  std::vector<Standing> pareto;
  std::vector<Standing> points;                     // all that was measured
  std::vector<BatchPoint> curve;                    // of the chosen layout over the batch
  BatchingAdvice batching_advice;                   // the resulting advice
  std::optional<BatchingOutlook> batching_outlook;  // prediction from the limits
  std::optional<Replay> replay;                     // of a full search: result of the quick one
  int trials = 0, reused = 0;                       // measurements of the search; of them from the store
  int candidates = 0, measured = 0;                 // of the space
  std::vector<SkipCount> skipped;
  bool interrupted = false;
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

// All but deviation, batching, seconds and repository. `untuned` is the baseline against itself.
Tuning summarise(const TuningContext& context, const Goal& goal, const Search& search, const Exploration& explored,
                 const Decision& decision, const Trial& untuned);

// What disturbed the run, also as that of both measurements, which then carry an undisturbed estimate and no advice.
void add_disturbance(const machine::Disturbance& disturbance, Tuning& tuning);

// The largest measured batch that met the goal.
int64_t verified_batch(const Search& search);

// "input[1,3,224,224] mask[1,128]".
std::string shapes_text(const plan::Plan& plan);

// One plain sentence: what changed, the gain, the current limit.
std::string conclusion(const Tuning& tuning);
// "compute-bound, at 71 % of the limit".
std::string limit_sentence(const measure::Measurement& measured);

NameTable<Choice> names_of(Choice);  // "tuned", "baseline", "none"
Json to_json(const Tuning& tuning);

}  // namespace ridge::tune
