// Which device of the catalogue suits a model and a goal: predicted performance, fit in memory, performance per watt and per
// dollar, with a sentence of reasons each. Pure: tables and costs in, ranking out.
//
// Predictions are the layer-by-layer roofline with efficiencies carried over from devices measured elsewhere
// (carried_over.h), so they carry a range; they are for choosing what to measure, not for promising a latency.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "cost/costs.h"
#include "hw/catalogue.h"
#include "hw/cloud_price.h"
#include "plan/carried_over.h"

namespace ridge::plan {

enum class Use { kInference, kTraining, kMixed };  // mixed: must fit for training, ranked by inference
std::string_view use_name(Use use);
Result<Use> use_from_name(std::string_view name);

enum class RankBy { kPerformance, kWatt, kDollar };
std::string_view rank_by_name(RankBy by);
Result<RankBy> rank_by_from_name(std::string_view name);

struct Goal {
  Use use = Use::kInference;
  Precision precision = Precision::kFp32;
  int64_t batch = 1;                        // rows of a run
  std::optional<double> p99_ms = {};        // of a request; of a training step
  std::optional<double> rows_per_s = {};    // load to carry, by as many devices as it takes
  std::optional<double> usd_per_hour = {};  // budget for all of them
  RankBy rank_by = RankBy::kPerformance;
};

struct Candidate {
  hw::CatalogueDevice device = {};
  std::optional<hw::CloudPrice> price = {};
  double bound_ms = 0;    // of the whole model: what nothing on this device can beat
  Held held = {};         // where the likely time goes
  Range run_ms = {};      // of one run or training step at the goal's batch
  double rows_per_s = 0;  // of one device, likely
  double needed_bytes = 0, available_bytes = 0;
  int devices = 1;                            // to carry the load
  std::optional<double> p99_ms = {};          // slow end, with queueing if a load was given
  std::optional<double> rows_per_joule = {};  // at the board's power
  std::optional<double> rows_per_usd = {};
  std::optional<double> usd_per_hour = {};  // of all `devices`
  bool meets = false;
  std::string reason = {};  // one sentence
};

struct Recommendation {
  Goal goal = {};
  std::vector<Candidate> ranked = {};   // those that meet the goal, best first
  std::vector<Candidate> refused = {};  // the others, in the order of the catalogue
  std::vector<std::string> assumptions = {};
};

// `costs` are those of the model at the goal's batch and precision.
Recommendation recommend(std::span<const hw::CatalogueDevice> devices, std::span<const hw::CloudPrice> prices,
                         const cost::Costs& costs, const Goal& goal);

// [bytes] Weights and live activations, and what a driver and its libraries take.
double inference_bytes(const cost::Costs& costs);
// [bytes] 16 per parameter (FP32 or mixed precision with Adam: handbook, section 2, ZeRO's 4P + 12P) and every output that
// the backward pass needs: here each layer's, once.
double training_bytes(const cost::Costs& costs);

// [ms] 99th percentile of waiting and being served, where requests arrive at random and one takes `service_ms`: the tail of
// M/D/1 in heavy traffic, P(W > t) ≈ ρ·exp(−2(1−ρ)t/s) (Kingman's approximation with constant service). ρ < 1.
double p99_with_queue_ms(double service_ms, double utilisation);

Json to_json(const Recommendation& recommendation);

}  // namespace ridge::plan
