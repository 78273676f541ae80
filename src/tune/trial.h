// Trial: the record of one interleaved measurement of a candidate and the untuned model, or of candidates of several models at once and
// all of them untuned. What the store keeps: it holds what was seen and not what that is worth, so that a run with another goal can
// use it.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "measure/measurement.h"
#include "tune/figures.h"
#include "tune/search.h"

namespace ridge::tune {

// One side of a trial: the runs of one model over all its slices.
struct Side {
  std::string engine, engine_version, device;  // that really ran it; empty in older records
  measure::Latency latency_ms;                 // of one run
  double rows_per_s = 0;                       // mean over the slices
  double ci95_percent = 0;                     // half-width of the interval of the mean latency
  int64_t samples = 0;                         // runs
  measure::Stages stages_ms;  // load and first run of the first session; the rest as means over the runs
  int threads = 0;            // per instance, as the engine really runs
  double joules_per_row = 0;  // of the whole package, by its counter; 0 = not measured
  // Growth of the process while this side was opened and while it ran; 0 in older records, which did not measure it.
  int64_t rss_delta_bytes = 0;

  Figures figures() const { return {rows_per_s, latency_ms.p50, latency_ms.p99, joules_per_row, samples}; }
};

struct Trial {
  std::vector<double> rate_log_ratios;     // per round: ln(candidate rows/s ÷ baseline rows/s)
  std::vector<double> latency_log_ratios;  // per round: ln(baseline p50 ÷ candidate p50)
  std::vector<double> energy_log_ratios;   // per round: ln(baseline J/row ÷ candidate J/row); empty = not measured
  Side baseline, candidate;
  double seconds = 0;   // what it took, opening included
  std::string failure;  // not empty: the candidate cannot run
};

// rows/s of every model in one round.
struct CoLocatedRound {
  std::vector<double> candidate, untuned;
};

struct CoLocatedTrial {
  std::vector<Trial>
      models;  // of each model by itself: its figures and its ratios to the untuned one, both beside the others
  std::vector<CoLocatedRound> rounds;
  double memory_bytes = 0;  // by how much the process grew while the candidates were opened and ran
  double seconds = 0;
  std::string failure;  // not empty: they cannot run
};

// Costs are those of a machine that is paid by the CPU: rows per CPU and second.
Outcome outcome_of(const Trial& trial, const Candidate& candidate, Objective objective);

Json to_json(const Trial& trial);
Result<Trial> trial_from_json(const Json& json);
Json to_json(const CoLocatedTrial& trial);
Result<CoLocatedTrial> co_located_trial_from_json(const Json& json);

}  // namespace ridge::tune
