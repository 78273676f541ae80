// Recommends devices of the catalogue for a model and a goal: predicted performance, fit in memory, performance per
// watt and per dollar, with a sentence of reasons each. Pure: tables and costs in, ranking out.
//
// Predictions are the layer-by-layer roofline with efficiencies carried over from devices measured elsewhere
// (carried_over.h), so they carry a range; they are for choosing what to measure, not for promising a latency.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/figure.h"
#include "catalogue/catalogue.h"
#include "catalogue/cloud_price.h"
#include "cost/costs.h"
#include "model/graph.h"
#include "predict/carried_over.h"

namespace ridge::sizing {

enum class Use { kInference, kTraining, kMixed };  // mixed: must fit for training, ranked by inference
NameTable<Use> names_of(Use);
std::string_view use_name(Use use);
Result<Use> use_from_name(std::string_view name);

enum class RankBy { kPerformance, kWatt, kDollar };
NameTable<RankBy> names_of(RankBy);
Result<RankBy> rank_by_from_name(std::string_view name);

struct Goal {
  Use use = Use::kInference;
  Precision precision = Precision::kFp32;
  int64_t batch = 1;                        // rows of a run
  std::optional<double> p99_ms = {};        // of a request; of a training step
  std::optional<double> rows_per_s = {};    // load to carry, by as many devices as needed
  std::optional<double> usd_per_hour = {};  // budget for all of them
  RankBy rank_by = RankBy::kPerformance;
};
void visit_fields(auto& visit, Is<Goal> auto& goal) {
  visit("for", goal.use);
  visit("precision", goal.precision);
  visit("batch", goal.batch);
  visit("p99_ms", goal.p99_ms, means("of a request; of a training step"));
  visit("rps", goal.rows_per_s, means("load to carry, by as many devices as needed").in("rows/s"));
  visit("budget_usd_per_hour", goal.usd_per_hour, means("for all of them").in("USD"));
  visit("by", goal.rank_by);
}

struct Candidate {
  catalogue::CatalogueDevice device = {};
  std::optional<catalogue::CloudPrice> price = {};
  std::optional<double> bound_ms = {};  // of an inference run: the lower limit on this device
  predict::BottleneckShares held = {};  // breakdown of the likely time
  predict::Range run_ms = {};           // of one run or training step at the goal's batch
  double rows_per_s = 0;                // of one device, likely
  double needed_bytes = 0, available_bytes = 0;
  int64_t devices = 1;                        // to carry the load
  std::optional<double> p99_ms = {};          // slow end, with queueing if a load was given
  std::optional<double> rows_per_joule = {};  // at the board's power
  std::optional<double> rows_per_usd = {};
  std::optional<double> usd_per_hour = {};  // of all `devices`
  bool meets = false;
  std::string rejection =
      {};  // reason if not: "memory", "too-slow", "too-dear", "no-price", "no-source"; empty if it meets
  std::string reason = {};  // one sentence
};
void visit_fields(auto& visit, Is<Candidate> auto& candidate) {
  visit("device", candidate.device.name, Figure().column("device"));
  visit("vendor", candidate.device.vendor);
  visit("meets", candidate.meets);
  visit.or_null("refusal", candidate.rejection,
                means("an id, null where the device meets the goal: `memory`, `too-slow`, `too-dear`, `no-price`, "
                      "`no-source` (the catalogue has no source for its memory or its rates)"));
  visit("bound_ms", candidate.bound_ms, means("least time of an inference run"));
  visit("held_by", candidate.held, means("shares of the likely time"));
  visit("run_ms", candidate.run_ms,
        means("of one run or training step at the goal's batch").part_columns("slow likely fast", "{} run"));
  visit("throughput_per_s", candidate.rows_per_s, means("rows of one device, likely").column("rows/s"));
  visit.object("memory_bytes", [&](auto& bytes) {
    bytes("needed", candidate.needed_bytes);
    bytes("available", candidate.available_bytes);
  });
  visit("devices", candidate.devices, means("to carry the load").column("devices"));
  visit("p99_ms", candidate.p99_ms, means("slow end, with queueing if a load was given").column("p99").leaves(1));
  visit("per_joule", candidate.rows_per_joule,
        means("rows, at the board's power").column("rows/J").in("rows/J").leaves(2));
  visit("per_usd", candidate.rows_per_usd, means("rows").column("rows/USD").in("rows/USD").leaves(1));
  visit("usd_per_hour", candidate.usd_per_hour, means("of all devices").column("per hour").in("USD"));
  visit("reason", candidate.reason, Figure().column("why").remark());
  visit("price", candidate.price);
}

struct Recommendation {
  Goal goal = {};
  std::vector<Candidate> ranked = {};   // those that meet the goal, best first
  std::vector<Candidate> refused = {};  // the others, in catalogue order
  std::vector<std::string> assumptions = {};
  std::string tie = {};  // a sentence: the first ones are equal, and why; empty: they are not
};
void visit_fields(auto& visit, Is<Recommendation> auto& recommendation) {
  visit("goal", recommendation.goal);
  visit("ranked", recommendation.ranked, means("those that meet the goal, best first"));
  visit("refused", recommendation.refused, means("the others, in catalogue order"));
  visit("assumptions", recommendation.assumptions);
  visit.unless_empty("tie", recommendation.tie, means("a sentence, where the first ones are equally fast"));
}

// The model's demand on a device, at the goal's batch and precision.
struct Workload {
  cost::Costs costs = {};
  double inference_bytes = 0;           // weights and live activations
  double training_bytes = 0;            // with Adam: training_memory() of training.h; 0 for inference
  std::vector<std::string> notes = {};  // uncounted parts
};
// Errors: training at an inference-only precision (int8, fp8, fp64).
Result<Workload> workload_of(const model::Graph& graph, const Goal& goal);

// Where the first ones are equal: the ranking at the least larger batch, by doubling up to 1024, at which they are not,
// made by `at`.
std::optional<Recommendation> told_apart(const Recommendation& equal,
                                         const std::function<Result<Recommendation>(int64_t batch)>& at);

Recommendation recommend(std::span<const catalogue::CatalogueDevice> devices,
                         std::span<const catalogue::CloudPrice> prices, const Workload& workload, const Goal& goal);

}  // namespace ridge::sizing
