#include "plan/recommend.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace ridge::plan {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;
// Context of the driver, kernels of the libraries and a small workspace, on top of what the model needs. Assumed.
constexpr double kReservedBytes = 1.0 * kGib;
// Load without a latency goal: devices are kept this busy at most. Assumed.
constexpr double kMostUtilisation = 0.8;
// Forward and backward pass in units of the forward pass: the gradients of inputs and of weights each cost as much again.
constexpr double kTrainingPasses = 3;
// [bytes/parameter] that Adam reads (parameter, gradient, two moments) and writes (parameter, two moments), each FP32.
constexpr double kAdamTraffic = 28;
constexpr int kMostDevices = 100000;

constexpr std::array<std::pair<Use, std::string_view>, 3> kUses = {
    {{Use::kInference, "inference"}, {Use::kTraining, "training"}, {Use::kMixed, "mixed"}}};
constexpr std::array<std::pair<RankBy, std::string_view>, 3> kRankings = {
    {{RankBy::kPerformance, "performance"}, {RankBy::kWatt, "watt"}, {RankBy::kDollar, "dollar"}}};

template <typename Key, typename Table>
Result<Key> from_name(const Table& table, std::string_view name, std::string_view what) {
  std::string known;
  for (const auto& [key, candidate] : table) {
    if (candidate == name) return key;
    known += (known.empty() ? "" : ", ") + std::string(candidate);
  }
  return Error{Code::kInvalid, fmt::format("unknown {} '{}'; known: {}", what, name, known)};
}

// What the goal asks of one device, alike for all.
struct Demand {
  double needed_bytes = 0;
  double passes = 1;
  double extra_bytes = 0;  // traffic beyond the layers', per step
};

Demand demand_of(const cost::Costs& costs, const Goal& goal) {
  if (goal.use == Use::kInference) return {.needed_bytes = inference_bytes(costs)};
  Demand demand{.needed_bytes = training_bytes(costs)};
  if (goal.use == Use::kMixed) return demand;
  demand.passes = kTrainingPasses;
  demand.extra_bytes = kAdamTraffic * static_cast<double>(costs.parameters);
  return demand;
}

Range scaled(const Range& range, double factor, double more) {
  return {range.slow * factor + more, range.likely * factor + more, range.fast * factor + more};
}

// The run's time; false with a reason if the device has no rate for it.
bool predict(const cost::Costs& costs, const Goal& goal, const Demand& demand, Candidate& candidate) {
  auto limit = cost::limits_of(candidate.device);
  auto likely = cost::limits_of(candidate.device, cost::Accumulate::kFp32);
  if (!limit || !likely) {
    candidate.reason = "cannot be judged: its peaks or its bandwidth have no source";
    return false;
  }
  if (cost::rate_of(*likely, goal.precision).flops_per_s <= 0) {
    candidate.reason = fmt::format("cannot be judged: no {} rate has a source", precision_name(goal.precision));
    return false;
  }
  cost::Bound bound = cost::bound(costs, *limit);
  double optimiser_ms = 1e3 * demand.extra_bytes / *candidate.device.bytes_per_s;
  candidate.bound_ms = bound.ms * demand.passes + optimiser_ms;
  std::vector<cost::Bound> layers = layer_bounds(costs, *likely);
  CarriedOver efficiency = carried_over(candidate.device, goal.precision);
  Range forward = predicted_ms(layers, efficiency);
  candidate.held = held_by(layers, efficiency);
  candidate.run_ms = scaled(forward, demand.passes, optimiser_ms);
  candidate.rows_per_s =
      candidate.run_ms.likely > 0 ? 1e3 * static_cast<double>(goal.batch) / candidate.run_ms.likely : 0;
  return true;
}

// Devices for the load, and the latency that they give. Planned at the slow end of the prediction.
void size_fleet(const Goal& goal, Candidate& candidate) {
  double service_ms = candidate.run_ms.slow;
  candidate.p99_ms = service_ms;
  if (!goal.rows_per_s) return;
  double rows_per_s = 1e3 * static_cast<double>(goal.batch) / service_ms;
  double most = goal.p99_ms ? 0.999 : kMostUtilisation;
  double at_least = std::min(std::ceil(*goal.rows_per_s / (rows_per_s * most)), double{kMostDevices});
  int devices = std::max(1, static_cast<int>(at_least));
  auto latency = [&](int n) {
    return p99_with_queue_ms(service_ms, std::min(0.999, *goal.rows_per_s / (rows_per_s * n)));
  };
  if (goal.p99_ms && service_ms <= *goal.p99_ms)
    while (devices < kMostDevices && latency(devices) > *goal.p99_ms) ++devices;
  candidate.devices = devices;
  candidate.p99_ms = latency(devices);
}

// Per dollar: of the load where one was given, since a fleet is not busy all the time; else of a device at its limit.
void add_efficiency(const Goal& goal, Candidate& candidate) {
  if (auto watts = hw::power_per_gpu_w(candidate.device)) candidate.rows_per_joule = candidate.rows_per_s / *watts;
  if (!candidate.price) return;
  candidate.usd_per_hour = candidate.devices * candidate.price->usd_per_gpu_hour;
  candidate.rows_per_usd = 3600 * goal.rows_per_s.value_or(candidate.rows_per_s) / *candidate.usd_per_hour;
}

// Why the candidate does not do; empty if it does.
std::string objection(const Goal& goal, const Candidate& candidate) {
  if (candidate.needed_bytes > candidate.available_bytes)
    return fmt::format("does not fit: {} are needed, it has {}", format_bytes(candidate.needed_bytes),
                       format_bytes(candidate.available_bytes));
  if (goal.p99_ms && *candidate.p99_ms > *goal.p99_ms)
    return fmt::format("too slow: up to {} where {} are asked for", format_ms(*candidate.p99_ms),
                       format_ms(*goal.p99_ms));
  if (goal.usd_per_hour && !candidate.price) return "cannot be held against the budget: no hourly price is known";
  if (goal.usd_per_hour && *candidate.usd_per_hour > *goal.usd_per_hour)
    return fmt::format("too dear: {} of it cost {:.2f} USD/h, the budget is {:.2f}", candidate.devices,
                       *candidate.usd_per_hour, *goal.usd_per_hour);
  return "";
}

// What holds the device back, by its share of the time, and how much of its memory is used.
std::string praise(const Goal& goal, const Candidate& candidate) {
  const Held& held = candidate.held;
  std::string sentence;
  if (held.start >= std::max(held.compute, held.memory))
    sentence = fmt::format("starts layers for {:.0f} % of the time, so a larger batch would use it better", 100 * held.start);
  else if (held.memory >= held.compute)
    sentence = fmt::format("waits for memory ({}) for {:.0f} % of the time",
                           format_bandwidth(*candidate.device.bytes_per_s), 100 * held.memory);
  else
    sentence = fmt::format("computes for {:.0f} % of the time", 100 * held.compute);
  if (auto limits = cost::limits_of(candidate.device); limits && !cost::rate_of(*limits, goal.precision).note.empty())
    sentence += fmt::format(", has no {} units of its own", precision_name(goal.precision));
  return sentence +
         fmt::format(", uses {:.0f} % of its memory", 100 * candidate.needed_bytes / candidate.available_bytes);
}

Candidate judge(const hw::CatalogueDevice& device, std::span<const hw::CloudPrice> prices, const cost::Costs& costs,
                const Goal& goal) {
  Demand demand = demand_of(costs, goal);
  Candidate candidate{.device = device, .price = hw::price_of(prices, device)};
  candidate.needed_bytes = demand.needed_bytes;
  candidate.available_bytes = device.memory_bytes.value_or(0);
  if (!device.memory_bytes) {
    candidate.reason = "cannot be judged: its memory has no source";
    return candidate;
  }
  if (!predict(costs, goal, demand, candidate)) return candidate;
  size_fleet(goal, candidate);
  add_efficiency(goal, candidate);
  candidate.reason = objection(goal, candidate);
  candidate.meets = candidate.reason.empty();
  if (candidate.meets) candidate.reason = praise(goal, candidate);
  return candidate;
}

// Greater is better; unknown is last.
double merit(const Candidate& candidate, RankBy by) {
  switch (by) {
    case RankBy::kPerformance: return candidate.rows_per_s;
    case RankBy::kWatt: return candidate.rows_per_joule.value_or(-1);
    case RankBy::kDollar: return candidate.rows_per_usd.value_or(-1);
  }
  return 0;
}

// The best by each measure says so.
void name_winners(std::vector<Candidate>& ranked) {
  constexpr std::array<std::pair<RankBy, std::string_view>, 3> kTitles = {
      {{RankBy::kPerformance, "fastest"}, {RankBy::kWatt, "most per watt"}, {RankBy::kDollar, "most per dollar"}}};
  std::vector<std::string> titles(ranked.size());
  for (const auto& [by, title] : kTitles) {
    auto better = [by = by](const Candidate& a, const Candidate& b) { return merit(a, by) < merit(b, by); };
    auto best = std::max_element(ranked.begin(), ranked.end(), better);
    if (best == ranked.end() || merit(*best, by) <= 0) continue;
    std::string& own = titles[static_cast<size_t>(best - ranked.begin())];
    own += (own.empty() ? "" : ", ") + std::string(title);
  }
  for (size_t i = 0; i < ranked.size(); ++i)
    if (!titles[i].empty()) ranked[i].reason = titles[i] + ": " + ranked[i].reason;
}

// The evidence behind the predictions that were made, each sentence once.
std::vector<std::string> evidence_of(const Goal& goal, const Recommendation& recommendation) {
  std::vector<std::string> sentences;
  for (const auto* candidates : {&recommendation.ranked, &recommendation.refused})
    for (const Candidate& candidate : *candidates)
      for (const std::string& sentence : carried_over(candidate.device, goal.precision).evidence)
        if (candidate.run_ms.likely > 0 && std::find(sentences.begin(), sentences.end(), sentence) == sentences.end())
          sentences.push_back(sentence);
  return sentences;
}

std::vector<std::string> assumptions_of(const Goal& goal, const Recommendation& recommendation) {
  std::vector<std::string> sentences = evidence_of(goal, recommendation);
  sentences.push_back("peaks and bandwidths are datasheet values; FP16 and FP8 with FP32 accumulators");
  sentences.push_back(fmt::format("{} are set aside for driver and libraries", format_bytes(kReservedBytes)));
  if (goal.use != Use::kInference)
    sentences.push_back(
        "training: 16 bytes per parameter with Adam, each layer's output kept once; a step takes three "
        "forward passes and the optimiser's 28 bytes per parameter");
  if (goal.rows_per_s)
    sentences.push_back(
        goal.p99_ms ? "requests arrive at random and are spread evenly; their 99th percentile by the heavy-traffic "
                      "formula of M/D/1, without the wait for a batch to fill"
                    : fmt::format("devices are busy {:.0f} % of the time at most", 100 * kMostUtilisation));
  sentences.push_back("prices: the lowest per GPU among the newest public lists, by the hour, on demand");
  return sentences;
}

}  // namespace

std::string_view use_name(Use use) {
  for (const auto& [candidate, name] : kUses)
    if (candidate == use) return name;
  return {};
}
Result<Use> use_from_name(std::string_view name) { return from_name<Use>(kUses, name, "use"); }

std::string_view rank_by_name(RankBy by) {
  for (const auto& [candidate, name] : kRankings)
    if (candidate == by) return name;
  return {};
}
Result<RankBy> rank_by_from_name(std::string_view name) { return from_name<RankBy>(kRankings, name, "ranking"); }

double inference_bytes(const cost::Costs& costs) {
  return costs.weight_bytes + costs.peak_activation_bytes + kReservedBytes;
}

double training_bytes(const cost::Costs& costs) {
  constexpr double kPerParameter = 16;
  double outputs = 0;
  for (const cost::NodeCost& node : costs.nodes)
    if (node.runs) outputs += node.bytes_written;
  return kPerParameter * static_cast<double>(costs.parameters) + outputs + kReservedBytes;
}

double p99_with_queue_ms(double service_ms, double utilisation) {
  double wait_above_one_percent = std::log(std::max(1.0, 100 * utilisation));  // 0: fewer than 1 % wait at all
  return service_ms * (1 + wait_above_one_percent / (2 * (1 - utilisation)));
}

Recommendation recommend(std::span<const hw::CatalogueDevice> devices, std::span<const hw::CloudPrice> prices,
                         const cost::Costs& costs, const Goal& goal) {
  Recommendation result{.goal = goal};
  for (const hw::CatalogueDevice& device : devices) {
    Candidate candidate = judge(device, prices, costs, goal);
    (candidate.meets ? result.ranked : result.refused).push_back(std::move(candidate));
  }
  std::stable_sort(result.ranked.begin(), result.ranked.end(), [&](const Candidate& a, const Candidate& b) {
    double of_a = merit(a, goal.rank_by), of_b = merit(b, goal.rank_by);
    if (of_a != of_b) return of_a > of_b;
    return a.rows_per_s != b.rows_per_s ? a.rows_per_s > b.rows_per_s : a.bound_ms < b.bound_ms;
  });
  name_winners(result.ranked);
  result.assumptions = assumptions_of(goal, result);
  return result;
}

}  // namespace ridge::plan
