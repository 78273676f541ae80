#include "tune/trial.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace ridge::tune {
namespace {

// CPUs that a candidate keeps busy.
double cpus(const Side& side, const Candidate& candidate) {
  return std::max(1, side.threads) * std::max(1, candidate.inter_op_threads) * candidate.instances;
}

std::vector<double> gains_of(const Trial& trial, const Candidate& candidate, Objective objective) {
  std::vector<double> gains = trial.rate_log_ratios;
  switch (objective) {
    case Objective::kBalanced:
    case Objective::kThroughput: break;
    case Objective::kLatency: return trial.latency_log_ratios;
    case Objective::kEnergy: return trial.energy_log_ratios;
    case Objective::kCost:
      for (double& gain : gains)
        gain += std::log(cpus(trial.baseline, baseline_candidate()) / cpus(trial.candidate, candidate));
  }
  return gains;
}

}  // namespace

Outcome outcome_of(const Trial& trial, const Candidate& candidate, Objective objective) {
  Outcome outcome;
  outcome.gains = gains_of(trial, candidate, objective);
  outcome.rate_gains = trial.rate_log_ratios;
  outcome.candidate = trial.candidate.figures();
  outcome.baseline = trial.baseline.figures();
  outcome.failure = trial.failure;
  if (outcome.failure.empty() && outcome.gains.empty()) outcome.failure = "the energy counters gave no reading";
  return outcome;
}

Json to_json(const Trial& trial) { return json_of(trial); }

Json to_json(const CoLocatedTrial& trial) { return json_of(trial); }

Result<CoLocatedTrial> co_located_trial_from_json(const Json& json) {
  RIDGE_ASSIGN(CoLocatedTrial trial, from_json<CoLocatedTrial>(json));
  for (const CoLocatedRound& round : trial.rounds)
    if (round.candidate.size() != trial.models.size() || round.untuned.size() != trial.models.size())
      return invalid("each of the 'pairs' should hold one rate per model");
  return trial;
}

}  // namespace ridge::tune
