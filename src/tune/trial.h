// Trial: the record of one interleaved measurement of a candidate and the untuned model, or of candidates of several
// models at once and all of them untuned. The store's record: it holds observations, not scores, so that a run with
// another goal can use it.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "measure/interleave.h"
#include "measure/measurement.h"
#include "tune/figures.h"
#include "tune/search.h"

namespace ridge::tune {

// One side of a trial: the runs of one model over all its slices.
struct Side {
  std::string engine, engine_version, device;  // of the actual run; empty in older records
  measure::Latency latency_ms;                 // of one run
  double rows_per_s = 0;                       // geometric mean over the slices
  double ci95_percent = 0;                     // half-width of the interval of the mean latency
  measure::PercentileIntervals latency_ci95_ms;
  int64_t samples = 0;        // runs
  measure::Stages stages_ms;  // load and first run of the first session; the rest as means over the runs
  int threads = 0;            // per instance, as the engine really runs
  double joules_per_row = 0;  // of the whole package, by its counter; 0 = not measured
  // Growth of the process while this side was opened and while it ran; 0 in older records without it.
  int64_t rss_delta_bytes = 0;

  Figures figures() const {
    return {rows_per_s, latency_ms.p50,      latency_ms.p99,     joules_per_row,
            samples,    latency_ci95_ms.p50, latency_ci95_ms.p99};
  }
};
void visit_fields(auto& visit, Is<Side> auto& side) {
  visit("mean_ms", side.latency_ms.mean);
  visit("p50_ms", side.latency_ms.p50);
  visit("p90_ms", side.latency_ms.p90);
  visit("p95_ms", side.latency_ms.p95);
  visit("p99_ms", side.latency_ms.p99);
  visit("min_ms", side.latency_ms.min);
  visit("max_ms", side.latency_ms.max);
  visit("rows_per_s", side.rows_per_s);
  visit("ci95_percent", side.ci95_percent);
  visit.optional("latency_ci95_ms", side.latency_ci95_ms);
  visit("load_ms", side.stages_ms.load);
  visit("first_run_ms", side.stages_ms.first_run);
  visit("input_ms", side.stages_ms.input);
  visit("compute_ms", side.stages_ms.compute);
  visit("output_ms", side.stages_ms.output);
  visit.optional("engine", side.engine);
  visit.optional("engine_version", side.engine_version);
  visit.optional("device", side.device);
  visit("samples", side.samples);
  visit("threads", side.threads);
  visit.optional("rss_delta", side.rss_delta_bytes);
  visit.optional("joules_per_row", side.joules_per_row);
}

// Figures of each round, for later comparisons.
struct RoundFigures {
  std::vector<double> rows_per_s, untuned_rows_per_s, p99_ms, untuned_p99_ms;

  bool empty() const { return rows_per_s.empty(); }
  void add(const measure::Slice& candidate, const measure::Slice& untuned) {
    rows_per_s.push_back(candidate.rate);
    untuned_rows_per_s.push_back(untuned.rate);
    p99_ms.push_back(candidate.p99_ms);
    untuned_p99_ms.push_back(untuned.p99_ms);
  }
};
void visit_fields(auto& visit, Is<RoundFigures> auto& rounds) {
  visit.optional("rows_per_s", rounds.rows_per_s, at_least(0));
  visit.optional("untuned_rows_per_s", rounds.untuned_rows_per_s, at_least(0));
  visit.optional("p99_ms", rounds.p99_ms, at_least(0));
  visit.optional("untuned_p99_ms", rounds.untuned_p99_ms, at_least(0));
}

struct Trial {
  std::vector<double> rate_log_ratios;     // per round: ln(candidate rows/s ÷ baseline rows/s)
  std::vector<double> latency_log_ratios;  // per round: ln(baseline p50 ÷ candidate p50)
  std::vector<double> energy_log_ratios;   // per round: ln(baseline J/row ÷ candidate J/row); empty = not measured
  RoundFigures rounds;                     // empty in older records
  Side baseline, candidate;
  double seconds = 0;   // duration, opening included
  std::string failure;  // not empty: the candidate cannot run
};
void visit_fields(auto& visit, Is<Trial> auto& trial) {
  visit("rate_log_ratios", trial.rate_log_ratios);
  visit("latency_log_ratios", trial.latency_log_ratios);
  visit.unless_empty("energy_log_ratios", trial.energy_log_ratios);
  visit.unless_empty("rounds", trial.rounds);
  visit("baseline", trial.baseline);
  visit("candidate", trial.candidate);
  visit("seconds", trial.seconds);
  visit("failure", trial.failure);
}

// rows/s of every model in one round.
struct CoLocatedRound {
  std::vector<double> candidate, untuned;
};
void visit_fields(auto& visit, Is<CoLocatedRound> auto& round) {
  visit("split", round.candidate);
  visit("untuned", round.untuned);
}

struct CoLocatedTrial {
  std::vector<Trial>
      models;  // of each model by itself: its figures and its ratios to the untuned one, both beside the others
  std::vector<CoLocatedRound> rounds;
  double memory_bytes = 0;  // growth of the process while the candidates were opened and ran
  double seconds = 0;
  std::string failure;  // not empty: they cannot run
};
void visit_fields(auto& visit, Is<CoLocatedTrial> auto& trial) {
  visit("models", trial.models);
  visit("pairs", trial.rounds);
  visit("memory_bytes", trial.memory_bytes);
  visit("seconds", trial.seconds);
  visit("failure", trial.failure);
}

// Costs are those of a machine priced by the CPU: rows per CPU and second.
Outcome outcome_of(const Trial& trial, const Candidate& candidate, Objective objective);

Json to_json(const Trial& trial);
Json to_json(const CoLocatedTrial& trial);
// Refuses rounds without a rate for each model.
Result<CoLocatedTrial> co_located_trial_from_json(const Json& json);

}  // namespace ridge::tune
