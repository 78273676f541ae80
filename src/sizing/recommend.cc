#include "sizing/recommend.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/name_table.h"
#include "predict/device_limits.h"
#include "sizing/capacity.h"
#include "sizing/training_plan.h"

namespace ridge::sizing {
namespace {

// [bytes/parameter] that Adam reads (parameter, gradient, two moments) and writes (parameter, two moments), each FP32.
constexpr double kAdamTraffic = 28;

constexpr std::array<std::pair<Use, std::string_view>, 3> kUses = {
    {{Use::kInference, "inference"}, {Use::kTraining, "training"}, {Use::kMixed, "mixed"}}};
constexpr std::array<std::pair<RankBy, std::string_view>, 3> kRankings = {
    {{RankBy::kPerformance, "performance"}, {RankBy::kWatt, "watt"}, {RankBy::kDollar, "dollar"}}};

TrainingSetup training_setup(Precision precision) {
  TrainingSetup setup;
  bool fp32 = precision == Precision::kFp32 || precision == Precision::kTf32;
  setup.precision = fp32 ? TrainingPrecision::kFp32 : TrainingPrecision::kMixed;
  return setup;
}

double needed_bytes(const Workload& workload, const Goal& goal) {
  return goal.use == Use::kInference ? workload.inference_bytes : workload.training_bytes;
}

double running_nodes(const cost::Costs& costs) {
  return static_cast<double>(
      std::count_if(costs.nodes.begin(), costs.nodes.end(), [](const cost::NodeCost& node) { return node.runs; }));
}

predict::CarriedOver efficiency_of(const catalogue::CatalogueDevice& device, const Goal& goal) {
  return goal.use == Use::kTraining ? predict::carried_over_to_training(device, goal.precision)
                                    : predict::carried_over(device, goal.precision);
}

// `limits` with FP32 accumulators.
void predict_training(const Workload& workload, const Goal& goal, const cost::DeviceLimits& limits,
                      Candidate& candidate) {
  std::vector<cost::Bound> layers = predict::layer_bounds(workload.costs, limits);
  predict::CarriedOver efficiency = efficiency_of(candidate.device, goal);
  double optimiser_ms =
      1e3 * kAdamTraffic * static_cast<double>(workload.costs.parameters) / *candidate.device.bytes_per_s;
  predict::Range passes = predict::predicted_training_ms(layers, running_nodes(workload.costs),
                                                         passes_of(training_setup(goal.precision)), efficiency);
  candidate.run_ms = {
      .slow = passes.slow + optimiser_ms, .likely = passes.likely + optimiser_ms, .fast = passes.fast + optimiser_ms};
  candidate.held = predict::held_by(layers, efficiency);
}

void predict_inference(const Workload& workload, const Goal& goal, const cost::DeviceLimits& limits,
                       Candidate& candidate) {
  std::vector<cost::Bound> layers = predict::layer_bounds(workload.costs, limits);
  predict::CarriedOver efficiency = predict::carried_over(candidate.device, goal.precision);
  if (auto any = cost::limits_of(candidate.device)) {
    predict::allow_tf32(*any);
    if (const double ms = cost::bound(workload.costs, *any).ms; ms > 0) candidate.bound_ms = ms;
  }
  candidate.run_ms = predict::predicted_ms(layers, efficiency);
  candidate.held = predict::held_by(layers, efficiency);
}

// The run's time; false with a reason if the device has no rate for it.
bool predict(const Workload& workload, const Goal& goal, Candidate& candidate) {
  auto limits = cost::limits_of(candidate.device, cost::Accumulate::kFp32);
  if (!limits) {
    candidate.rejection = "no-source";
    candidate.reason = "no published peak or bandwidth";
    return false;
  }
  if (cost::rate_of(*limits, goal.precision).flops_per_s <= 0) {
    candidate.rejection = "no-source";
    candidate.reason = fmt::format("no published {} peak", precision_name(goal.precision));
    return false;
  }
  (goal.use == Use::kTraining ? predict_training : predict_inference)(workload, goal, *limits, candidate);
  double likely_s = candidate.run_ms.likely / 1e3;
  candidate.rows_per_s = likely_s > 0 ? static_cast<double>(goal.batch) / likely_s : 0;
  return true;
}

// Devices for the load, and the resulting latency. Uses the slow end of the prediction.
void size_fleet(const Goal& goal, Candidate& candidate) {
  candidate.p99_ms = candidate.run_ms.slow;
  bool hopeless = goal.p99_ms && *candidate.p99_ms > *goal.p99_ms;
  if (!goal.rows_per_s || hopeless) return;
  Capacity fleet =
      capacity({.rows_per_s = *goal.rows_per_s, .p99_ms = goal.p99_ms},
               {.batch = goal.batch, .ms = candidate.run_ms.slow, .basis = "slow end of the prediction"}, 1);
  candidate.devices = fleet.instances;
  candidate.p99_ms = fleet.p99_ms;
}

// Per dollar: of the load if given, since a fleet is not always busy; else of a device at its limit.
void add_efficiency(const Goal& goal, Candidate& candidate) {
  if (auto watts = catalogue::power_per_gpu_w(candidate.device))
    candidate.rows_per_joule = candidate.rows_per_s / *watts;
  if (!candidate.price) return;
  candidate.usd_per_hour = static_cast<double>(candidate.devices) * candidate.price->usd_per_gpu_hour;
  candidate.rows_per_usd = 3600 * goal.rows_per_s.value_or(candidate.rows_per_s) / *candidate.usd_per_hour;
}

// Why the candidate does not meet the goal.
struct Objection {
  std::string id, text;
};
std::optional<Objection> objection(const Goal& goal, const Candidate& candidate) {
  if (candidate.needed_bytes > candidate.available_bytes)
    return Objection{"memory",
                     fmt::format("does not fit: {} are needed, it has {}", format_bytes(candidate.needed_bytes),
                                 format_bytes(candidate.available_bytes))};
  if (goal.p99_ms && *candidate.p99_ms > *goal.p99_ms)
    return Objection{"too-slow", fmt::format("too slow: up to {} where {} are asked for", format_ms(*candidate.p99_ms),
                                             format_ms(*goal.p99_ms))};
  if (goal.usd_per_hour && !candidate.price) return Objection{"no-price", "no price known"};
  if (goal.usd_per_hour && *candidate.usd_per_hour > *goal.usd_per_hour)
    return Objection{"too-dear", fmt::format("over budget: {} of it cost {}/h, the limit is {}/h", candidate.devices,
                                             format_usd(*candidate.usd_per_hour), format_usd(*goal.usd_per_hour))};
  return std::nullopt;
}

// The device's bottleneck by its share of the time, and the used share of its memory.
std::string praise(const Goal& goal, const Candidate& candidate) {
  const predict::BottleneckShares& held = candidate.held;
  std::string sentence;
  if (held.start >= std::max(held.compute, held.memory))
    sentence = fmt::format("launch-bound: {:.0f} % of the time; use a larger batch", 100 * held.start);
  else if (held.memory >= held.compute)
    sentence = fmt::format("memory-bound ({}): {:.0f} % of the time", format_bandwidth(*candidate.device.bytes_per_s),
                           100 * held.memory);
  else
    sentence = fmt::format("compute-bound: {:.0f} % of the time", 100 * held.compute);
  if (auto limits = cost::limits_of(candidate.device); limits && !cost::rate_of(*limits, goal.precision).note.empty())
    sentence += fmt::format(", has no {} units of its own", precision_name(goal.precision));
  return sentence +
         fmt::format(", uses {:.0f} % of its memory", 100 * candidate.needed_bytes / candidate.available_bytes);
}

Candidate judge(const catalogue::CatalogueDevice& device, std::span<const catalogue::CloudPrice> prices,
                const Workload& workload, const Goal& goal) {
  Candidate candidate{.device = device, .price = catalogue::price_of(prices, device)};
  candidate.needed_bytes = needed_bytes(workload, goal) + kAssumedReservedBytes;
  candidate.available_bytes = device.memory_bytes.value_or(0);
  if (!device.memory_bytes) {
    candidate.rejection = "no-source";
    candidate.reason = "no published memory size";
    return candidate;
  }
  if (!predict(workload, goal, candidate)) return candidate;
  size_fleet(goal, candidate);
  add_efficiency(goal, candidate);
  const std::optional<Objection> against = objection(goal, candidate);
  candidate.meets = !against;
  candidate.rejection = against ? against->id : "";
  candidate.reason = against ? against->text : praise(goal, candidate);
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

// Marks the best by each measure.
void name_winners(std::vector<Candidate>& ranked) {
  constexpr std::array<std::pair<RankBy, std::string_view>, 3> kTitles = {
      {{RankBy::kPerformance, "fastest"}, {RankBy::kWatt, "most per watt"}, {RankBy::kDollar, "most per dollar"}}};
  std::vector<std::string> titles(ranked.size());
  for (const auto& [by, title] : kTitles) {
    auto better = [by = by](const Candidate& a, const Candidate& b) { return merit(a, by) < merit(b, by); };
    auto best = std::max_element(ranked.begin(), ranked.end(), better);
    if (best == ranked.end() || merit(*best, by) <= 0) continue;
    const auto equal = [&, by = by](const Candidate& each) { return merit(each, by) == merit(*best, by); };
    if (std::ranges::count_if(ranked, equal) > 1) continue;
    std::string& own = titles[static_cast<size_t>(best - ranked.begin())];
    own += (own.empty() ? "" : ", ") + std::string(title);
  }
  for (size_t i = 0; i < ranked.size(); ++i)
    if (!titles[i].empty()) ranked[i].reason = titles[i] + ": " + ranked[i].reason;
}

// Starting kernels takes as long on each of them, so a small run tells them no further apart.
std::string tie_of(const std::vector<Candidate>& ranked, const Goal& goal) {
  if (ranked.empty()) return "";
  const auto equal = [&](const Candidate& each) { return each.run_ms.likely == ranked.front().run_ms.likely; };
  const auto count = std::ranges::count_if(ranked, equal);
  if (count < 2 || ranked.front().held.start < 0.5) return "";
  return fmt::format(
      "{} of {} devices are equally fast at batch {}, {}: launch-bound. A larger --batch tells them "
      "apart, or a goal (--rps, --p99-ms, --budget).",
      count, ranked.size(), goal.batch, format_ms(ranked.front().run_ms.likely));
}

// The evidence behind the predictions, each sentence once.
std::vector<std::string> evidence_of(const Goal& goal, const Recommendation& recommendation) {
  std::vector<std::string> sentences;
  for (const auto* candidates : {&recommendation.ranked, &recommendation.refused})
    for (const Candidate& candidate : *candidates)
      for (const std::string& sentence : efficiency_of(candidate.device, goal).evidence)
        if (candidate.run_ms.likely > 0 && std::find(sentences.begin(), sentences.end(), sentence) == sentences.end())
          sentences.push_back(sentence);
  return sentences;
}

std::vector<std::string> assumptions_of(const Goal& goal, const Recommendation& recommendation) {
  std::vector<std::string> sentences = evidence_of(goal, recommendation);
  sentences.push_back("peaks and bandwidths are datasheet values; FP16 and FP8 with FP32 accumulators");
  sentences.push_back(
      fmt::format("assumed: {} reserved for driver and libraries", format_bytes(kAssumedReservedBytes)));
  if (goal.use != Use::kInference)
    sentences.push_back("training memory: Adam, activations for the backward pass, and one layer's gradients");
  if (goal.use == Use::kTraining)
    sentences.push_back(
        "a step: forward, two matrix multiplications per layer backward, and Adam's 28 bytes per parameter");
  if (goal.rows_per_s)
    sentences.push_back(
        "load: one-row requests with random arrivals, one queue for all devices, runs at the slow end of the "
        "prediction "
        "(M/D/c), devices at most 80 % busy");
  sentences.push_back("prices: the lowest per GPU among the newest public lists, by the hour, on demand");
  return sentences;
}

}  // namespace

NameTable<Use> names_of(Use) { return kUses; }
std::string_view use_name(Use use) { return name_of(kUses, use); }
Result<Use> use_from_name(std::string_view name) { return from_name<Use>(kUses, name, "use"); }

NameTable<RankBy> names_of(RankBy) { return kRankings; }
Result<RankBy> rank_by_from_name(std::string_view name) { return from_name<RankBy>(kRankings, name, "ranking"); }

Result<Workload> workload_of(const model::Graph& graph, const Goal& goal) {
  Workload workload{.costs = cost::count(graph, goal.precision)};
  workload.inference_bytes = workload.costs.weight_bytes + workload.costs.peak_activation_bytes;
  for (const std::string& op : workload.costs.without_rule)
    workload.notes.push_back(fmt::format("no rule for {}: counted by its bytes only", op));
  if (goal.use == Use::kInference) return workload;
  if (goal.precision == Precision::kInt8 || goal.precision == Precision::kFp8 || goal.precision == Precision::kFp64)
    return Error{Code::kInvalid, fmt::format("training in {} is not supported; give fp32, tf32, fp16 or bf16",
                                             precision_name(goal.precision))};
  TrainingSetup setup = training_setup(goal.precision);
  TrainingProfile profile = sizing::profile(graph, static_cast<double>(goal.batch), setup);
  workload.training_bytes = training_memory(profile, setup).total();
  for (const std::string& op : profile.without_rule)
    workload.notes.push_back(fmt::format("no rule for the backward pass of {}: its inputs and outputs are kept", op));
  return workload;
}

std::optional<Recommendation> told_apart(const Recommendation& equal,
                                         const std::function<Result<Recommendation>(int64_t)>& at) {
  if (equal.tie.empty()) return std::nullopt;
  for (int64_t batch = 2 * equal.goal.batch; batch <= 1024; batch *= 2) {
    Result<Recommendation> larger = at(batch);
    if (!larger || larger->ranked.empty()) return std::nullopt;
    if (larger->tie.empty()) return std::move(*larger);
  }
  return std::nullopt;
}

Recommendation recommend(std::span<const catalogue::CatalogueDevice> devices,
                         std::span<const catalogue::CloudPrice> prices, const Workload& workload, const Goal& goal) {
  Recommendation result{.goal = goal};
  for (const catalogue::CatalogueDevice& device : devices) {
    Candidate candidate = judge(device, prices, workload, goal);
    (candidate.meets ? result.ranked : result.refused).push_back(std::move(candidate));
  }
  std::stable_sort(result.ranked.begin(), result.ranked.end(), [&](const Candidate& a, const Candidate& b) {
    double of_a = merit(a, goal.rank_by), of_b = merit(b, goal.rank_by);
    if (of_a != of_b) return of_a > of_b;
    if (a.rows_per_s != b.rows_per_s) return a.rows_per_s > b.rows_per_s;
    if (a.run_ms.fast != b.run_ms.fast) return a.run_ms.fast < b.run_ms.fast;
    return a.bound_ms.value_or(INFINITY) < b.bound_ms.value_or(INFINITY);
  });
  result.tie = tie_of(result.ranked, goal);
  name_winners(result.ranked);
  result.assumptions = assumptions_of(goal, result);
  result.assumptions.insert(result.assumptions.end(), workload.notes.begin(), workload.notes.end());
  return result;
}

}  // namespace ridge::sizing
