#include "tune/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "measure/advice.h"

namespace ridge::tune {
namespace {

constexpr std::array<std::pair<Choice, std::string_view>, 3> kChoices = {
    {{Choice::kCandidate, "tuned"}, {Choice::kBaseline, "baseline"}, {Choice::kNone, "none"}}};

std::string gain_sentence(const Tuning& tuning) {
  const measure::Measurement& best = tuning.best;
  const measure::Measurement& untuned = tuning.baseline;
  std::string spread =
      fmt::format("{:.2f}× (95 %: {:.2f} to {:.2f})", tuning.gain.ratio, tuning.gain.low, tuning.gain.high);
  switch (tuning.goal.objective) {
    case Objective::kThroughput: break;
    case Objective::kEnergy:
      return fmt::format("reach {} the rows per joule of the engine's defaults: {:.3g} J per row against {:.3g} J",
                         spread, tuning.best_joules_per_row, tuning.baseline_joules_per_row);
    case Objective::kCost:
      return fmt::format(
          "reach {} the rows per CPU and second of the engine's defaults: {:.4g} rows/s on {} CPUs "
          "against {:.4g} on {}",
          spread, best.throughput_per_s, best.instances * best.threads, untuned.throughput_per_s,
          untuned.instances * untuned.threads);
    case Objective::kLatency:
      return fmt::format("answer {} as fast as the engine's defaults: p50 {} against {}", spread,
                         format_ms(best.latency_ms.p50), format_ms(untuned.latency_ms.p50));
  }
  return fmt::format("reach {} the rows/s of the engine's defaults: {:.4g} against {:.4g}", spread,
                     best.throughput_per_s, untuned.throughput_per_s);
}

// Where the guard judged the winner's outputs, and only on synthetic samples.
std::string synthetic_sentence(const Tuning& tuning) {
  if (!tuning.admission.synthetic) return "";
  const SelectedVariant* admitted = admitted_as(tuning.candidate, tuning.admission);
  const bool judged = admitted != nullptr && !admitted->verdict.outputs.empty();
  return judged ? "; the deviation was measured on synthetic samples only" : "";
}

// The candidate's; the first is the baseline's.
const PricedImplementation& priced_of(const Candidate& candidate, const TuningContext& context) {
  for (const PricedImplementation& priced : context.implementations)
    if (runs(candidate, priced.implementation, context.plan.engine)) return priced;
  return context.implementations.front();
}

// Of so many threads of the machine, or of the target GPU.
Result<cost::DeviceLimits> limits_for(const TuningContext& context, int threads) {
  if (context.target.on_cpu()) return cost::limits_of(context.machine, threads);
  if (context.target.limits) return *context.target.limits;
  return Error{Code::kUnavailable, context.target.limits_reason};
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
  m.samples = side.samples;
  m.stages_ms = side.stages_ms;
  m.rss_delta_bytes = side.rss_delta_bytes;
  m.flops = costs.flops;
  m.without_rule = costs.without_rule;
  const int usable = machine::usable_threads(machine);
  const int busy = side.threads * plan.instances;
  Result<cost::DeviceLimits> own = limits_for(context, std::min(side.threads, usable));
  Result<cost::DeviceLimits> all = limits_for(context, std::min(busy, usable));
  const double quota_factor = context.target.on_cpu() ? machine::quota_factor(machine, busy) : 1;
  if (own && all) {
    measure::set_beside_limit(m, costs, *own, *all, quota_factor);
    m.limits = own->sources;
    if (!own->sources.empty()) m.limit_notes = cost::notes(costs, *own);
  }
  m.advice = measure::advise(m, own ? &*own : nullptr);
  return m;
}

}  // namespace

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
  tuning.pareto = search.pareto();
  tuning.points = search.measured();
  tuning.trials = static_cast<int>(explored.trials.size());
  tuning.reused = explored.reused;
  tuning.measured = static_cast<int>(search.measured().size());
  tuning.skipped = search.skipped();
  tuning.candidates = tuning.measured;
  for (const SkipCount& skipped : tuning.skipped) tuning.candidates += skipped.count;
  tuning.interrupted = explored.interrupted || decision.interrupted;
  tuning.baseline = to_measurement(decision.trial.baseline, baseline_candidate(), context);
  tuning.baseline_joules_per_row = tuning.best_joules_per_row = decision.trial.baseline.joules_per_row;
  tuning.best = tuning.baseline;
  if (decision.candidate != baseline_candidate()) {
    tuning.best_joules_per_row = decision.trial.candidate.joules_per_row;
    tuning.best = to_measurement(decision.trial.candidate, decision.candidate, context);
  }
  return tuning;
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

std::string limit_sentence(const measure::Measurement& measured) {
  if (measured.percent_of_limit <= 0) return "its physical limit is not known";
  const char* what = measured.limiter == cost::Limiter::kMemory ? "memory bandwidth" : "compute";
  if (measured.undisturbed)
    return fmt::format("{}-bound, undisturbed (by the {} run) at about {:.0f} % of the limit", what,
                       measured.undisturbed->by, measured.undisturbed->percent_of_limit);
  return fmt::format("{}-bound, at {} of the limit", what, format_percent(measured.percent_of_limit));
}

std::string conclusion(const Tuning& tuning) {
  const measure::Measurement& best = tuning.best;
  std::string goal = tuning.goal.p99_ms ? fmt::format("p99 ≤ {}", format_ms(*tuning.goal.p99_ms)) : "";
  switch (tuning.choice) {
    case Choice::kNone:
      return fmt::format("No candidate meets {}: the closest, {}, has a p99 of {}.", goal, describe(tuning.candidate),
                         format_ms(best.latency_ms.p99));
    case Choice::kBaseline:
      return fmt::format("Kept the engine's defaults ({:.4g} rows/s, p50 {}): nothing was significantly better; {}.",
                         best.throughput_per_s, format_ms(best.latency_ms.p50), limit_sentence(best));
    case Choice::kCandidate: break;
  }
  std::string changed = describe(tuning.candidate);
  return fmt::format("{}{} {}; {}{}.", changed, goal.empty() ? "" : ", with " + goal + ",", gain_sentence(tuning),
                     limit_sentence(best), synthetic_sentence(tuning));
}

NameTable<Choice> names_of(Choice) { return kChoices; }

void visit_fields(auto& visit, const Tuning& tuning) {
  visit("machine", tuning.machine);
  visit.object("goal", [&](auto& goal) {
    goal("objective", tuning.goal.objective);
    goal("p99_ms", tuning.goal.p99_ms);
    goal("met", tuning.choice != Choice::kNone);
  });
  visit("shapes", tuning.shapes);
  visit("baseline", tuning.baseline);
  visit("best", tuning.best);
  visit("choice", tuning.choice);
  visit("candidate", tuning.candidate);
  visit("speedup", tuning.gain.ratio);
  visit("gain", tuning.gain);
  visit.object("rounds", [&](auto& rounds) {
    rounds("gain_ln", tuning.gains);
    visit_fields(rounds, tuning.rounds);
  });
  visit("noise_percent", tuning.noise_percent);
  visit("drift", tuning.deviation);
  visit("accuracy", tuning.admission);
  visit.object("energy", [&](auto& energy) {
    energy("counters", tuning.energy);
    energy.or_null("baseline_joules_per_row", tuning.baseline_joules_per_row);
    energy.or_null("best_joules_per_row", tuning.best_joules_per_row);
    energy.or_null("origin", std::string_view(tuning.best_joules_per_row > 0 ? "measured" : ""));
  });
  visit("pareto", tuning.pareto);
  visit("points", tuning.points);
  visit("curve", tuning.curve);
  visit("batching_advice", tuning.batching_advice);
  visit("batching_outlook", tuning.batching_outlook);
  visit("replay", tuning.replay);
  visit("trials", tuning.trials);
  visit("reused", tuning.reused);
  visit.object("space", [&](auto& space) {
    space("candidates", tuning.candidates);
    space("measured", tuning.measured);
    space("skipped", tuning.skipped);
  });
  visit("batching", tuning.batching.empty() ? Json(true) : Json(tuning.batching));
  visit("interrupted", tuning.interrupted);
  visit.unless_empty("disturbance", tuning.disturbance);
  visit("seconds", tuning.seconds);
  visit("conclusion", conclusion(tuning));
  visit.or_null("repository", tuning.repository);
}

Json to_json(const Tuning& tuning) { return json_of(tuning); }

}  // namespace ridge::tune
