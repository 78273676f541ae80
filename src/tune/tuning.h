// Tuning: the result of a tuning run, beside the untuned baseline and the machine's limit. The `tune` JSON contract.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/figure.h"
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

// One sentence: the gain, rates and latencies beside the untuned model's, the limit, the settings.
std::string conclusion(const Tuning& tuning);

NameTable<Choice> names_of(Choice);  // "tuned", "baseline", "none"
void visit_fields(auto& visit, Is<Tuning> auto& tuning) {
  visit("machine", tuning.machine, means("as of `bench device`"));
  visit.object("goal", [&](auto& goal) {
    goal("objective", tuning.goal.objective);
    goal("p99_ms", tuning.goal.p99_ms, means("at most: of one run; with a load of a request, including its wait"));
    goal("rows_per_s", tuning.goal.rows_per_s, means("the load that must be carried"));
    goal.derived("met", tuning.choice != Choice::kNone);
    goal.derived("undecided",
                 Derived{undecided_goal(tuning), means("the 95 % interval of the p99 [ms] that is judged, of a run or "
                                                       "with a load of a request, where it includes p99_ms; null: "
                                                       "decided")});
  });
  visit("shapes", tuning.shapes, means("of the inputs at batch 1: `input[1,3,224,224]`"));
  visit("baseline", tuning.baseline,
        means("the untuned model as `bench MODEL` has it, of the trial of `best`, interleaved; throughput in rows"));
  visit("best", tuning.best, means("likewise the choice: of the confirmation"));
  visit("choice", tuning.choice,
        means("`tuned`; `baseline`: nothing was significantly better (best = baseline, speedup 1); `none`: nothing "
              "meets the goal (best = the closest)"));
  visit("candidate", tuning.candidate, means("what `best` is; threads 0: the engine's own default"));
  visit.derived("speedup", Derived{tuning.gain.ratio,
                                   means("of the objective (of `balanced`: of the throughput), best over baseline")});
  visit("gain", tuning.gain, means("the same with its 95 % interval"));
  visit.object("rounds", [&](auto& rounds) {
    rounds("gain_ln", tuning.gains, means("of every round of that trial; `--compare` judges these"));
    visit_fields(rounds, tuning.rounds);
  });
  visit("noise_percent", tuning.noise_percent,
        means("half-width of the gain's interval when the baseline is compared with itself"));
  visit("drift", tuning.deviation,
        means("best's outputs against the baseline's on the same inputs, of a batch above 8 for 8 rows from the first "
              "to the last; `not_finite`: NaN or infinite on either side"));
  visit("accuracy", tuning.admission);
  visit.object("energy", [&](auto& energy) {
    energy("counters", tuning.energy, means("which, or why none"));
    energy.or_null("baseline_joules_per_row", tuning.baseline_joules_per_row,
                   means("of the whole package or GPU, idle included; null: not measured"));
    energy.or_null("best_joules_per_row", tuning.best_joules_per_row, means("likewise"));
    energy.derived("origin", tuning.best_joules_per_row > 0 ? std::optional(Origin::kMeasured) : std::nullopt);
  });
  visit("pareto", tuning.pareto,
        means("the Pareto-optimal points in throughput, p99, memory and energy, and the best in any case, by falling "
              "throughput"));
  visit("alternatives", tuning.alternatives,
        means("answers of other goals on that front: for (`throughput`, `latency`), and the point; without those where "
              "the best is it, or its throughput or p99 is within the best's interval"));
  visit("points", tuning.points, means("every measured candidate"));
  visit("curve", tuning.curve,
        means("the chosen candidate over the batch, all instances busy, at the machine's speed in the final "
              "measurement, by the baseline interleaved with each"));
  visit("batching_advice", tuning.batching_advice);
  visit("batching_outlook", tuning.batching_outlook, means("null: limits are unknown, or there is a single batch"));
  visit("replay", tuning.replay,
        means("with `--search full`: what the quick search would have found on these points; else null"));
  visit("trials", tuning.trials, means("measurements of the search"));
  visit("reused", tuning.reused, means("of these from the store"));
  visit.object("space", [&](auto& space) {
    space("candidates", tuning.candidates);
    space("measured", tuning.measured);
    space("skipped", tuning.skipped, means("that are not the answer, by reason"));
  });
  visit.or_null("not_batched", tuning.batching, means("why rows of requests are not merged; null: they may be"));
  visit("interrupted", tuning.interrupted);
  visit("confirmed", tuning.confirmed, means("false: the best was chosen by the search's trials alone"));
  visit("not_done", tuning.not_done, means("what `--seconds` left out, one sentence each"));
  visit.unless_empty("at_load", tuning.at_load,
                     means("with `--rps`: the best alone at that load; absent: not measured"));
  visit.unless_empty("disturbance", tuning.disturbance,
                     means("as of a bench, over the whole run; if disturbed, also in `baseline` and `best`, with their "
                           "undisturbed estimates"));
  visit("seconds", tuning.seconds);
  visit.derived("conclusion", [&] { return conclusion(tuning); });
  visit.or_null("repository", tuning.repository, means("folder of the version that was written"));
}

}  // namespace ridge::tune
