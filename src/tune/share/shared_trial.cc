#include "tune/share/shared_trial.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace ridge::tune::share {
namespace {

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

std::vector<double> gains_of(const SharedTrial& trial, std::span<const Member> members) {
  std::vector<double> gains;
  for (const SharedPair& pair : trial.pairs)
    gains.push_back(std::log(value_of(members, pair.split) / value_of(members, pair.untuned)));
  return gains;
}

ModelFigures figures_of(const Side& side) { return {side.rows_per_s, side.latency_ms.p50, side.latency_ms.p99}; }

std::vector<ModelFigures> split_figures(const SharedTrial& trial) {
  std::vector<ModelFigures> figures;
  for (const Trial& model : trial.models) figures.push_back(figures_of(model.candidate));
  return figures;
}

std::vector<ModelFigures> untuned_figures(const SharedTrial& trial) {
  std::vector<ModelFigures> figures;
  for (const Trial& model : trial.models) figures.push_back(figures_of(model.baseline));
  return figures;
}

Json to_json(const SharedTrial& trial) {
  Json json;
  json["models"] = Json::array();
  for (const Trial& model : trial.models) json["models"].push_back(to_json(model));
  json["pairs"] = Json::array();
  for (const SharedPair& pair : trial.pairs)
    json["pairs"].push_back({{"split", pair.split}, {"untuned", pair.untuned}});
  json["memory_bytes"] = trial.memory_bytes;
  json["seconds"] = trial.seconds;
  json["failure"] = trial.failure;
  return json;
}

Result<SharedTrial> shared_trial_from_json(const Json& json) {
  SharedTrial trial;
  RIDGE_ASSIGN(const Json* models, array_of(json, "models"));
  for (const Json& model : *models) {
    RIDGE_ASSIGN(Trial read, trial_from_json(model));
    trial.models.push_back(std::move(read));
  }
  RIDGE_ASSIGN(const Json* pairs, array_of(json, "pairs"));
  for (const Json& pair : *pairs) {
    SharedPair read;
    RIDGE_ASSIGN(read.split, rates_from(pair, "split", trial.models.size()));
    RIDGE_ASSIGN(read.untuned, rates_from(pair, "untuned", trial.models.size()));
    trial.pairs.push_back(std::move(read));
  }
  RIDGE_ASSIGN(trial.memory_bytes, json_member<double>(json, "memory_bytes"));
  RIDGE_ASSIGN(trial.seconds, json_member<double>(json, "seconds"));
  RIDGE_ASSIGN(trial.failure, json_member<std::string>(json, "failure"));
  return trial;
}

}  // namespace ridge::tune::share
