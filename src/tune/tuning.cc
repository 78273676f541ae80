#include "tune/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "measure/advice.h"
#include "measure/statistics.h"
#include "tune/conclusion.h"
#include "tune/front.h"

namespace ridge::tune {
namespace {

constexpr std::array<std::pair<Choice, std::string_view>, 3> kChoices = {
    {{Choice::kCandidate, "tuned"}, {Choice::kBaseline, "baseline"}, {Choice::kNone, "none"}}};

// The candidate's; the first is the baseline's.
const PricedImplementation& priced_of(const Candidate& candidate, const TuningContext& context) {
  for (const PricedImplementation& priced : context.implementations)
    if (runs(candidate, priced.implementation, context.plan.engine)) return priced;
  return context.implementations.front();
}

// The winner's point, with the figures of the decision.
Standing as_decided(Standing standing, const Decision& decision, const ModelGoal& goal) {
  const Outcome seen = outcome_of(decision.trial, decision.candidate, Objective::kThroughput);
  standing.outcome.candidate = seen.candidate;
  standing.outcome.baseline = seen.baseline;
  standing.gain = decision.gain;
  standing.rate = gain_of(seen.gains);
  standing.undecided = undecided(goal, decision.candidate, seen.candidate);
  return standing;
}

// Where the untuned model is the answer, it is on the front.
std::vector<Standing> with_untuned(std::vector<Standing> points, const Decision& decision) {
  if (decision.candidate != baseline_candidate()) return points;
  Standing& untuned = points.emplace_back();
  untuned.outcome.candidate = untuned.outcome.baseline = decision.trial.baseline.figures();
  untuned.gain = untuned.rate = kNoGain;
  return points;
}

// One side of a trial beside the machine's limits.
measure::Measurement to_measurement(const Side& side, const Candidate& candidate, const TuningContext& context) {
  const PricedImplementation& priced = priced_of(candidate, context);
  const plan::Plan plan = to_plan(candidate, context.plan, std::span(&priced.implementation, 1));
  const cost::Costs costs = at_batch(priced.costs, candidate.batch);
  const engine::Info& info = context.info;
  const machine::Machine& machine = context.machine;
  measure::Measurement m;
  m.model = plan.model;
  m.engine = side.engine.empty() ? info.name : side.engine;
  m.engine_version = side.engine.empty() ? info.version : side.engine_version;
  m.device = side.engine.empty() ? info.device : side.device;
  m.precision = plan.precision;
  m.threads = side.threads;
  m.instances = plan.instances;
  m.batch = plan.batch;
  m.latency_ms = side.latency_ms;
  m.throughput_per_s = side.rows_per_s;
  m.ci95_percent = side.ci95_percent;
  m.latency_ci95_ms = side.latency_ci95_ms;
  m.samples = side.samples;
  m.stages_ms = side.stages_ms;
  m.rss_delta_bytes = side.rss_delta_bytes;
  m.flops = costs.flops;
  m.without_rule = costs.without_rule;
  const int usable = machine::usable_threads(machine);
  const int busy = side.threads * plan.instances;
  Result<cost::DeviceLimits> own = limits_for(machine, context.target, std::min(side.threads, usable));
  Result<cost::DeviceLimits> all = limits_for(machine, context.target, std::min(busy, usable));
  const double quota_factor = context.target.on_cpu() ? machine::quota_factor(machine, busy) : 1;
  if (own && all) {
    measure::set_beside_limit(m, costs, *own, *all, quota_factor);
    m.limits = context.target.on_cpu() ? cost::sources_of(machine, *own) : own->sources;
  }
  m.advice = measure::advise(m, own ? &*own : nullptr);
  return m;
}

}  // namespace

Result<cost::DeviceLimits> limits_for(const machine::Machine& machine, const Target& target, int threads) {
  if (target.on_cpu()) return cost::limits_of(machine, threads);
  if (target.limits) return *target.limits;
  return Error{Code::kUnavailable, target.limits_reason};
}

Tuning summarise(const TuningContext& context, const Goal& goal, const Search& search, const Exploration& explored,
                 const Decision& decision, const Trial& untuned) {
  Tuning tuning;
  tuning.machine = context.machine;
  tuning.goal = goal;
  tuning.shapes = shapes_text(context.plan);
  tuning.choice = decision.choice;
  tuning.candidate = decision.candidate;
  tuning.gain = decision.gain;
  tuning.rounds = decision.trial.rounds;
  if (decision.candidate == baseline_candidate()) {  // it beside itself
    tuning.gains.assign(tuning.rounds.rows_per_s.size(), 0);
    tuning.rounds.rows_per_s = tuning.rounds.untuned_rows_per_s;
    tuning.rounds.p99_ms = tuning.rounds.untuned_p99_ms;
  } else {
    tuning.gains = outcome_of(decision.trial, decision.candidate, goal.objective).gains;
  }
  Gain itself = gain_of(outcome_of(untuned, baseline_candidate(), goal.objective).gains);
  tuning.noise_percent = 50 * (itself.high - itself.low);
  for (const Standing& standing : search.measured())
    tuning.points.push_back(standing.candidate == decision.candidate
                                ? as_decided(standing, decision, goal.limits())
                                : at_speed(standing, decision.trial.baseline.rows_per_s));
  tuning.pareto = pareto_front(with_untuned(tuning.points, decision), decision.candidate);
  tuning.trials = static_cast<int>(explored.trials.size());
  tuning.reused = explored.reused;
  tuning.measured = static_cast<int>(search.measured().size());
  tuning.skipped = search.skipped();
  tuning.candidates = tuning.measured;
  for (const SkipCount& skipped : tuning.skipped) tuning.candidates += skipped.count;
  tuning.interrupted = explored.interrupted || decision.interrupted;
  tuning.confirmed = decision.confirmed && !tuning.interrupted;
  tuning.baseline = untuned_measurement(context, decision.trial);
  tuning.baseline_joules_per_row = tuning.best_joules_per_row = decision.trial.baseline.joules_per_row;
  tuning.best = tuning.baseline;
  if (decision.candidate != baseline_candidate()) {
    tuning.best_joules_per_row = decision.trial.candidate.joules_per_row;
    tuning.best = to_measurement(decision.trial.candidate, decision.candidate, context);
    tuning.best.throughput_ci95_per_s = measure::mean_rate_interval(decision.trial.rounds.rows_per_s);
  }
  tuning.alternatives = alternatives_of(tuning);
  return tuning;
}

measure::Measurement untuned_measurement(const TuningContext& context, const Trial& untuned) {
  measure::Measurement m = to_measurement(untuned.baseline, baseline_candidate(), context);
  m.throughput_ci95_per_s = measure::mean_rate_interval(untuned.rounds.untuned_rows_per_s);
  return m;
}

std::vector<Alternative> alternatives_of(const Tuning& tuning) {
  if (tuning.pareto.empty() || tuning.choice == Choice::kNone) return {};
  const Standing& fastest = tuning.pareto.front();
  const Standing& soonest = *std::min_element(
      tuning.pareto.begin(), tuning.pareto.end(),
      [](const Standing& a, const Standing& b) { return a.outcome.candidate.p99_ms < b.outcome.candidate.p99_ms; });
  const measure::Measurement& best = tuning.best;
  const measure::Interval& known = best.throughput_ci95_per_s;
  std::vector<Alternative> result;
  // The requested objective is the answer; a difference within both intervals is not called faster, or sooner.
  const auto offer = [&](Objective objective, const Standing& other, bool apart) {
    if (apart && objective != tuning.goal.objective && other.candidate != tuning.candidate)
      result.push_back({std::string(name_of(names_of(Objective()), objective)), other});
  };
  const Figures &most = fastest.outcome.candidate, &least = soonest.outcome.candidate;
  offer(Objective::kThroughput, fastest,
        most.rows_per_s > known.high.value_or(best.throughput_per_s) &&
            fastest.rows_per_s_ci95().low.value_or(0) > best.throughput_per_s);
  offer(Objective::kLatency, soonest,
        least.p99_ms < best.latency_ci95_ms.p99.low.value_or(best.latency_ms.p99) &&
            least.p99_ci95_ms.high.value_or(least.p99_ms) < best.latency_ms.p99);
  return result;
}

std::optional<measure::Interval> undecided_goal(const Tuning& tuning) {
  const measure::Measurement& best = tuning.best;
  Figures figures{best.throughput_per_s, best.latency_ms.p50, best.latency_ms.p99};
  figures.p99_ci95_ms = best.latency_ci95_ms.p99;
  const measure::Interval judged = tuning.at_load ? tuning.at_load->request_p99_ci95_ms
                                                  : judged_interval(tuning.goal.limits(), tuning.candidate, figures);
  const bool within = tuning.goal.p99_ms && judged.includes(*tuning.goal.p99_ms);
  return within ? std::optional(judged) : std::nullopt;
}

void add_disturbance(const machine::Disturbance& disturbance, Tuning& tuning) {
  tuning.disturbance = disturbance;
  if (!machine::disturbed(disturbance)) return;
  for (measure::Measurement* m : {&tuning.baseline, &tuning.best}) {
    m->disturbance = disturbance;
    m->undisturbed = measure::undisturbed(*m);
    m->advice = measure::advise(*m, nullptr);
  }
}

int64_t verified_batch(const Search& search) {
  int64_t largest = 1;
  for (const Standing& standing : search.measured())
    if (standing.feasible) largest = std::max(largest, standing.candidate.batch);
  return largest;
}

std::string shapes_text(const plan::Plan& plan) {
  std::string text;
  for (const auto& [name, shape] : plan.shapes) text += (text.empty() ? "" : " ") + name + shape_text(shape);
  return text;
}

NameTable<Choice> names_of(Choice) { return kChoices; }

}  // namespace ridge::tune
