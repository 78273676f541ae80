#include "tune/share/co_located_tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/units.h"

namespace ridge::tune::share {
namespace {

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json score_json(const Score& score) {
  return {{"met", score.met}, {"closeness", score.closeness}, {"value", score.value}};
}

Json at_load_json(const std::optional<AtLoad>& seen) {
  if (!seen) return nullptr;
  return {{"asked_per_s", seen->asked_per_s},
          {"done_per_s", seen->done_per_s},
          {"request_p99_ms", seen->request_p99_ms},
          {"runs", seen->runs},
          {"origin", "measured"}};
}

Json goal_json(const TunedModel& model) {
  const Fulfilment& fulfilment = model.fulfilment;
  const bool load = model.member.goal.rows_per_s.has_value();
  return {{"rows_per_s", optional_json(model.member.goal.rows_per_s)},
          {"p99_ms", optional_json(model.member.goal.p99_ms)},
          {"met", fulfilment.met()},
          {"reason", fulfilment.miss},
          {"utilisation", load ? Json(fulfilment.utilisation) : Json()},
          {"request_p99_ms", load ? Json(fulfilment.request_p99_ms) : Json()},
          {"at_load", at_load_json(model.at_load)}};
}

Json point_json(const SoloPoint& point) {
  Json json = to_json(point.candidate);
  json["text"] = describe(point.candidate);
  json["processors"] = point.cpus;
  json["throughput_per_s"] = point.figures.rows_per_s;
  json["latency_ms"] = {{"p50", point.figures.p50_ms}, {"p99", point.figures.p99_ms}};
  json["memory_bytes"] = point.memory_bytes;
  return json;
}

Json model_json(const TunedModel& model) {
  Json json;
  json["name"] = model.member.name;
  json["goal"] = goal_json(model);
  json["alone"] = point_json(model.member.alone);
  json["baseline"] = measure::to_json(model.tuning.baseline);
  json["best"] = measure::to_json(model.tuning.best);
  json["candidate"] = to_json(model.tuning.candidate);
  json["text"] = describe(model.tuning.candidate);
  json["share"] = model.share();
  json["gain"] = model.tuning.gain.ratio;
  json["repository"] = model.tuning.repository.empty() ? Json() : Json(model.tuning.repository);
  return json;
}

Json partition_json(const PartitionStanding& standing, const std::vector<CoLocatedModel>& members) {
  Json models = Json::array();
  for (size_t i = 0; i < members.size(); ++i) {
    Json model = to_json(standing.entry.partition[i]);
    model["name"] = members[i].name;
    model["throughput_per_s"] = standing.figures[i].rows_per_s;
    model["expected_per_s"] = standing.entry.expected[i].rows_per_s;
    model["latency_ms"] = {{"p50", standing.figures[i].p50_ms}, {"p99", standing.figures[i].p99_ms}};
    models.push_back(std::move(model));
  }
  return {{"models", std::move(models)},
          {"processors", standing.entry.cpus},
          {"in_turns", standing.entry.in_turns},
          {"score", score_json(standing.score)},
          {"expected_value", standing.entry.expectation.value},
          {"most_value", standing.entry.most_value},
          {"gain", to_json(standing.gain)},
          {"memory_bytes", {{"predicted", standing.entry.memory_bytes}, {"measured_growth", standing.memory_bytes}}},
          {"trials", standing.trials}};
}

Json memory_json(const MemoryUse& memory) {
  return {{"budget", memory.budget_bytes > 0 ? Json(memory.budget_bytes) : Json()},
          {"budget_source", memory.budget_source},
          {"predicted", memory.predicted_bytes},
          {"measured", optional_json(memory.measured_bytes)}};
}

// The model whose part decides the value, or the goal that is missed by most.
const TunedModel& tightest(const CoLocatedTuning& sharing) {
  const bool loads = all_have_loads(sharing.members());
  auto slack = [&](const TunedModel& model) {
    if (sharing.choice == Choice::kNone) return model.fulfilment.ratio;
    if (loads) return model.tuning.best.throughput_per_s / *model.member.goal.rows_per_s;
    return model.member.goal.rows_per_s ? HUGE_VAL : model.share();
  };
  return *std::min_element(sharing.models.begin(), sharing.models.end(),
                           [&](const TunedModel& a, const TunedModel& b) { return slack(a) < slack(b); });
}

std::string value_sentence(const CoLocatedTuning& sharing, double value) {
  if (all_have_loads(sharing.members())) return fmt::format("carry {:.2f} times the loads", value);
  return fmt::format("reach at least {} of the solo speed", format_percent(100 * value));
}

std::string missed(const CoLocatedTuning& sharing) {
  std::string text;
  for (const TunedModel& model : sharing.models) {
    if (model.fulfilment.met()) continue;
    const Fulfilment alone = fulfilment_of(model.member.goal, model.member.alone.candidate, model.member.alone.figures);
    text += fmt::format("{}{}: {}{}", text.empty() ? "" : "; ", model.member.name, model.fulfilment.miss,
                        alone.met() ? "" : " (not even by the model alone on the whole machine)");
  }
  if (!sharing.refuted.empty()) text += (text.empty() ? "" : "; ") + sharing.refuted;
  return text;
}

}  // namespace

std::vector<CoLocatedModel> CoLocatedTuning::members() const {
  std::vector<CoLocatedModel> all;
  for (const TunedModel& model : models) all.push_back(model.member);
  return all;
}

CoLocatedTuning summarise_co_located(const PartitionSearch& search, const CoLocatedExplored& explored,
                                     const CoLocatedDecision& decision, const CoLocatedTrial& untuned,
                                     const ResourceBudget& budget) {
  CoLocatedTuning sharing;
  const std::vector<CoLocatedModel>& members = search.members();
  sharing.choice = decision.choice;
  sharing.gain = decision.gain;
  const Gain itself = gain_of(gains_of(untuned, members));
  sharing.noise_percent = 50 * (itself.high - itself.low);
  sharing.untuned = untuned_score(members, decision.trial);
  const bool changed = decision.candidate != untuned_partition(members.size());
  sharing.best = changed ? score_of(members, decision.candidate, candidate_figures(decision.trial)) : sharing.untuned;
  sharing.cpus = budget.cpus;
  int wanted = 0;
  for (const Candidate& candidate : decision.candidate) wanted += cpus_of(candidate);
  sharing.in_turns = wanted > budget.cpus;
  sharing.memory.budget_bytes = budget.memory_bytes;
  sharing.partitions = search.measured();
  for (const PartitionStanding& standing : sharing.partitions)
    if (standing.entry.partition == decision.candidate) sharing.memory.predicted_bytes = standing.entry.memory_bytes;
  sharing.candidates = search.candidates();
  sharing.trials = static_cast<int>(explored.trials.size());
  sharing.reused = explored.reused;
  sharing.skipped = search.skipped();
  sharing.interrupted = explored.interrupted || decision.interrupted;
  return sharing;
}

std::string conclusion(const CoLocatedTuning& sharing) {
  if (sharing.choice == Choice::kNone) return fmt::format("The goals cannot be met together: {}.", missed(sharing));
  const bool goals = std::any_of(sharing.models.begin(), sharing.models.end(), [](const TunedModel& model) {
    return model.member.goal.rows_per_s || model.member.goal.p99_ms;
  });
  const TunedModel& last = tightest(sharing);
  const std::string end = fmt::format("{}{} is the tightest: {}.", goals ? "all goals are met; " : "", last.member.name,
                                      limit_sentence(last.tuning.best));
  if (sharing.choice == Choice::kBaseline)
    return fmt::format("Kept the engines' defaults, which {}: no partition was significantly better; {}",
                       value_sentence(sharing, sharing.untuned.value), end);
  Partition partition;
  for (const TunedModel& model : sharing.models) partition.push_back(model.tuning.candidate);
  return fmt::format(
      "{}: together they {}, {:.2f}× (95 %: {:.2f} to {:.2f}) as much as the engines' defaults together; {}",
      describe_partition(sharing.members(), partition), value_sentence(sharing, sharing.best.value), sharing.gain.ratio,
      sharing.gain.low, sharing.gain.high, end);
}

Json to_json(const CoLocatedTuning& sharing) {
  const std::vector<CoLocatedModel> members = sharing.members();
  Json models = Json::array(), partitions = Json::array();
  for (const TunedModel& model : sharing.models) models.push_back(model_json(model));
  for (const PartitionStanding& standing : sharing.partitions) partitions.push_back(partition_json(standing, members));
  Json json;
  json["machine"] = machine::to_json(sharing.models.front().tuning.machine);
  json["models"] = std::move(models);
  json["value"] = {
      {"what", value_name(members)}, {"untuned", score_json(sharing.untuned)}, {"best", score_json(sharing.best)}};
  json["choice"] = choice_name(sharing.choice);
  json["gain"] = to_json(sharing.gain);
  json["noise_percent"] = sharing.noise_percent;
  json["processors"] = sharing.cpus;
  json["in_turns"] = sharing.in_turns;
  json["memory_bytes"] = memory_json(sharing.memory);
  json["splits"] = std::move(partitions);
  json["space"] = {{"candidates", sharing.candidates},
                   {"measured", sharing.partitions.size()},
                   {"skipped", to_json(sharing.skipped)}};
  json["trials"] = sharing.trials;
  json["reused"] = sharing.reused;
  json["interrupted"] = sharing.interrupted;
  json["seconds"] = sharing.seconds;
  json["conclusion"] = conclusion(sharing);
  json["repository"] = sharing.repository.empty() ? Json() : Json(sharing.repository);
  return json;
}

Json shared_json(const CoLocatedTuning& sharing, size_t model) {
  Json with = Json::array();
  for (size_t i = 0; i < sharing.models.size(); ++i)
    if (i != model) with.push_back(sharing.models[i].member.name);
  const TunedModel& own = sharing.models[model];
  return {{"with", std::move(with)},
          {"goal", goal_json(own)},
          {"alone", point_json(own.member.alone)},
          {"share", own.share()},
          {"value",
           {{"what", value_name(sharing.members())}, {"best", sharing.best.value}, {"untuned", sharing.untuned.value}}},
          {"gain", to_json(sharing.gain)},
          {"conclusion", conclusion(sharing)}};
}

}  // namespace ridge::tune::share
