#include "tune/trial.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace ridge::tune {
namespace {

// The numeric members of a Side by name, so that writing and reading cannot differ.
template <typename SideType, typename Visit>
void visit(SideType& side, Visit&& with) {
  with("mean_ms", side.latency_ms.mean);
  with("p50_ms", side.latency_ms.p50);
  with("p90_ms", side.latency_ms.p90);
  with("p95_ms", side.latency_ms.p95);
  with("p99_ms", side.latency_ms.p99);
  with("min_ms", side.latency_ms.min);
  with("max_ms", side.latency_ms.max);
  with("rows_per_s", side.rows_per_s);
  with("ci95_percent", side.ci95_percent);
  with("load_ms", side.stages_ms.load);
  with("first_run_ms", side.stages_ms.first_run);
  with("input_ms", side.stages_ms.input);
  with("compute_ms", side.stages_ms.compute);
  with("output_ms", side.stages_ms.output);
}

Json side_json(const Side& side) {
  Json json;
  visit(side, [&](const char* name, double value) { json[name] = value; });
  json["engine"] = side.engine;
  json["engine_version"] = side.engine_version;
  json["device"] = side.device;
  json["samples"] = side.samples;
  json["threads"] = side.threads;
  json["rss_delta"] = side.rss_delta_bytes;
  json["joules_per_row"] = side.joules_per_row;
  return json;
}

Result<Side> read_side(const Json& parent, const char* key) {
  if (!parent.is_object() || !parent.contains(key))
    return Error{Code::kInvalid, std::string("member '") + key + "' is missing"};
  const Json& json = parent.at(key);
  Side side;
  Status status;
  visit(side, [&](const char* name, double& value) {
    Result<double> read = json_member<double>(json, name);
    if (read)
      value = *read;
    else if (status)
      status = read.error();
  });
  RIDGE_TRY(status);
  RIDGE_ASSIGN(side.engine, json_member_or<std::string>(json, "engine", ""));
  RIDGE_ASSIGN(side.engine_version, json_member_or<std::string>(json, "engine_version", ""));
  RIDGE_ASSIGN(side.device, json_member_or<std::string>(json, "device", ""));
  RIDGE_ASSIGN(side.samples, json_member<int64_t>(json, "samples"));
  RIDGE_ASSIGN(int64_t threads, json_member<int64_t>(json, "threads"));
  side.threads = static_cast<int>(threads);
  RIDGE_ASSIGN(side.rss_delta_bytes, json_member_or<int64_t>(json, "rss_delta", 0));
  RIDGE_ASSIGN(side.joules_per_row, json_member_or<double>(json, "joules_per_row", 0));
  return side;
}

Result<std::vector<double>> read_numbers(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json.at(key).is_array())
    return Error{Code::kInvalid, std::string("member '") + key + "' should be a list of numbers"};
  std::vector<double> numbers;
  for (const Json& number : json.at(key)) {
    if (!number.is_number()) return Error{Code::kInvalid, std::string("member '") + key + "' should hold numbers only"};
    numbers.push_back(number.get<double>());
  }
  return numbers;
}

// CPUs that a candidate keeps busy.
double cpus(const Side& side, const Candidate& candidate) {
  return std::max(1, side.threads) * std::max(1, candidate.inter_op_threads) * candidate.instances;
}

std::vector<double> gains_of(const Trial& trial, const Candidate& candidate, Objective objective) {
  std::vector<double> gains = trial.rate_log_ratios;
  switch (objective) {
    case Objective::kThroughput: break;
    case Objective::kLatency: return trial.latency_log_ratios;
    case Objective::kEnergy: return trial.energy_log_ratios;
    case Objective::kCost:
      for (double& gain : gains)
        gain += std::log(cpus(trial.baseline, baseline_candidate()) / cpus(trial.candidate, candidate));
  }
  return gains;
}

Result<std::vector<double>> rates_from(const Json& pair, const char* key, size_t models) {
  const Error wrong{Code::kInvalid, std::string("member '") + key + "' of a pair should hold one rate per model"};
  if (!pair.is_object() || !pair.contains(key) || !pair.at(key).is_array() || pair.at(key).size() != models)
    return wrong;
  std::vector<double> rates;
  for (const Json& rate : pair.at(key)) {
    if (!rate.is_number()) return wrong;
    rates.push_back(rate.get<double>());
  }
  return rates;
}

Result<const Json*> array_of(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json.at(key).is_array())
    return Error{Code::kInvalid, std::string("member '") + key + "' should be a list"};
  return &json.at(key);
}

}  // namespace

Outcome outcome_of(const Trial& trial, const Candidate& candidate, Objective objective) {
  Outcome outcome;
  outcome.gains = gains_of(trial, candidate, objective);
  outcome.candidate = trial.candidate.figures();
  outcome.baseline = trial.baseline.figures();
  outcome.failure = trial.failure;
  if (outcome.failure.empty() && outcome.gains.empty()) outcome.failure = "the energy counters gave no reading";
  return outcome;
}

Json to_json(const Trial& trial) {
  Json json;
  json["rate_log_ratios"] = trial.rate_log_ratios;
  json["latency_log_ratios"] = trial.latency_log_ratios;
  if (!trial.energy_log_ratios.empty()) json["energy_log_ratios"] = trial.energy_log_ratios;
  json["baseline"] = side_json(trial.baseline);
  json["candidate"] = side_json(trial.candidate);
  json["seconds"] = trial.seconds;
  json["failure"] = trial.failure;
  return json;
}

Result<Trial> trial_from_json(const Json& json) {
  Trial trial;
  RIDGE_ASSIGN(trial.rate_log_ratios, read_numbers(json, "rate_log_ratios"));
  RIDGE_ASSIGN(trial.latency_log_ratios, read_numbers(json, "latency_log_ratios"));
  if (json.contains("energy_log_ratios")) {
    RIDGE_ASSIGN(trial.energy_log_ratios, read_numbers(json, "energy_log_ratios"));
  }
  RIDGE_ASSIGN(trial.baseline, read_side(json, "baseline"));
  RIDGE_ASSIGN(trial.candidate, read_side(json, "candidate"));
  RIDGE_ASSIGN(trial.seconds, json_member<double>(json, "seconds"));
  RIDGE_ASSIGN(trial.failure, json_member<std::string>(json, "failure"));
  return trial;
}

Json to_json(const CoLocatedTrial& trial) {
  Json json;
  json["models"] = Json::array();
  for (const Trial& model : trial.models) json["models"].push_back(to_json(model));
  json["pairs"] = Json::array();
  for (const CoLocatedRound& round : trial.rounds)
    json["pairs"].push_back({{"split", round.candidate}, {"untuned", round.untuned}});
  json["memory_bytes"] = trial.memory_bytes;
  json["seconds"] = trial.seconds;
  json["failure"] = trial.failure;
  return json;
}

Result<CoLocatedTrial> co_located_trial_from_json(const Json& json) {
  CoLocatedTrial trial;
  RIDGE_ASSIGN(const Json* models, array_of(json, "models"));
  for (const Json& model : *models) {
    RIDGE_ASSIGN(Trial read, trial_from_json(model));
    trial.models.push_back(std::move(read));
  }
  RIDGE_ASSIGN(const Json* pairs, array_of(json, "pairs"));
  for (const Json& pair : *pairs) {
    CoLocatedRound read;
    RIDGE_ASSIGN(read.candidate, rates_from(pair, "split", trial.models.size()));
    RIDGE_ASSIGN(read.untuned, rates_from(pair, "untuned", trial.models.size()));
    trial.rounds.push_back(std::move(read));
  }
  RIDGE_ASSIGN(trial.memory_bytes, json_member<double>(json, "memory_bytes"));
  RIDGE_ASSIGN(trial.seconds, json_member<double>(json, "seconds"));
  RIDGE_ASSIGN(trial.failure, json_member<std::string>(json, "failure"));
  return trial;
}

}  // namespace ridge::tune
