#include "app/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/device_energy.h"
#include "app/tune_model.h"
#include "cost/costs.h"
#include "measure/advice.h"
#include "measure/layers.h"
#include "tune/replay.h"
#include "tune/share/proof.h"
#include "tune/store.h"
#include "tune/tuner.h"

namespace ridge::app {
namespace {

constexpr Nanoseconds kLayersTime = std::chrono::seconds(1);  // of each model

// The device's energy counters, or why there are none; only the objective that needs them fails without.
struct Energy {
  std::optional<machine::EnergyMeter> meter;
  std::string text;
};
Result<Energy> open_energy(const TuneRequest& request) {
  const bool wanted = request.goal.objective == tune::Objective::kEnergy;
  if (!wanted && plan::is_nvidia(request.device))  // its counter moves too seldom: every slice would be long
    return Energy{std::nullopt, "not measured: a GPU's counter needs long slices; use --for efficiency"};
  Result<machine::EnergyMeter> meter = energy_meter_of(request.device);
  if (!meter && wanted) return wrap(meter.error(), "--for efficiency");
  if (!meter) return Energy{std::nullopt, "not measured: " + meter.error().message};
  Energy energy{std::move(*meter), ""};
  energy.text = energy.meter->source();
  return energy;
}

// The recorded candidate may no longer run here, or lose too much accuracy.
Status check_admitted(const tune::Candidate& candidate, const tune::VariantSelection& admission) {
  if (candidate == tune::baseline_candidate() || tune::admitted_as(candidate, admission) != nullptr) return {};
  std::string why;
  for (const tune::Rejection& rejection : admission.rejections)
    if (rejection.request.variant == candidate.variant)
      why += fmt::format("; {} {}: {}", rejection.request.engine, rejection.request.variant, rejection.reason);
  return Error{Code::kFailed, "the stored result's " + tune::describe(candidate) + " is not available now" + why};
}

// The candidate alone at the goal's load, with random arrivals.
Result<tune::share::Proof> prove_load(const TuneModel& model, const tune::share::CoLocatedModel& own,
                                      const tune::Candidate& candidate) {
  tune::BenchmarkOptions how = model.benchmark->options();
  how.seconds = 4 * model.budget.left(tune::Part::kConfirm);  // of which it takes a quarter
  return tune::share::prove({&model.benchmark->model(), 1}, {&own, 1}, {candidate}, how, model.benchmark->clock());
}

// The winner of a search: a candidate that loses accuracy when rows are batched is withdrawn, and the next one
// confirmed. So is one that does not carry the goal's load; the first is always run at it, the others if there is time.
Result<tune::Decision> confirm_accurate(const TuneModel& model, tune::Search& search, const tune::Exploration& explored,
                                        const tune::TuneOptions& how, std::optional<tune::share::AtLoad>& at_load) {
  const tune::share::CoLocatedModel own{model.request.name, model.request.goal.limits(), {}, {}};
  const bool load = model.request.goal.rows_per_s.has_value();
  const TimePoint begin = model.budget.end_of(tune::Part::kSearch), end = model.budget.end_of(tune::Part::kConfirm);
  if (load) model.benchmark->end_by(begin + (end - begin) / 2);  // the rest is the load's
  bool proved = false;
  const auto objection = [&](const tune::Decision& decision) -> Result<tune::SkipReason> {
    at_load.reset();
    if (decision.choice == tune::Choice::kNone) return tune::SkipReason{};
    RIDGE_ASSIGN(const bool keeps, keeps_rows_apart(decision.candidate, model));
    if (!keeps) return tune::SkipReason{"rows-lose-accuracy", "its rows lose accuracy when they run together"};
    if (!load || (proved && model.budget.over(tune::Part::kConfirm))) return tune::SkipReason{};
    proved = true;
    RIDGE_ASSIGN(const tune::share::Proof proof, prove_load(model, own, decision.candidate));
    at_load = proof.at_load.front();
    return tune::SkipReason{"not-proven", tune::share::refuted(proof, {&own, 1})};
  };
  return tune::confirm_unless([&] { return tune::confirm(search, *model.benchmark, explored, model.untuned, how); },
                              objection,
                              [&](const tune::Candidate& candidate, const tune::SkipReason& why) {
                                search.withdraw(candidate, why);
                                return Status();
                              });
}

// Options for a part of the run; its trials end with it.
tune::TuneOptions options_of(tune::Part part, const TuneModel& model, const RunControl& control) {
  model.benchmark->end_by(model.budget.end_of(part));
  return {model.request.goal, model.budget.left(part), control.interrupted, control.progress,
          [&model, part] { return model.budget.over(part); }};
}

// The best of all candidates; for a recorded one, that one measured again.
Result<tune::Decision> decide(const TuneModel& model, tune::Search& search, tune::Store& store,
                              const RunControl& control, tune::Exploration& explored,
                              std::optional<tune::share::AtLoad>& at_load) {
  if (const std::optional<tune::Tuning>& recorded = model.request.recorded) {
    RIDGE_TRY(check_admitted(recorded->candidate, model.admission));
    return tune::remeasure(recorded->candidate, *model.benchmark, model.untuned,
                           options_of(tune::Part::kConfirm, model, control));
  }
  RIDGE_ASSIGN(explored,
               tune::explore(search, *model.benchmark, store, options_of(tune::Part::kSearch, model, control)));
  return confirm_accurate(model, search, explored, options_of(tune::Part::kConfirm, model, control), at_load);
}

// The breakdown of a run's time, before and after.
Status add_layers(const TuneModel& model, const RunControl& control, tune::Tuning& tuning) {
  // On a GPU the profile times kernel launches.
  if (control.stopped() || !model.target.on_cpu()) return {};
  const std::vector<tune::Implementation> known = implementations_of(model.admission);
  const auto ended = [&] { return control.stopped() || model.budget.over(tune::Part::kEnd); };
  const Nanoseconds time = std::min<Nanoseconds>(kLayersTime, from_seconds(model.budget.left(tune::Part::kEnd) / 4));
  auto layers = [&](const tune::Candidate& candidate, measure::Measurement& m) -> Status {
    Result<cost::DeviceLimits> limits = cost::limits_of(model.machine, m.threads);
    RIDGE_ASSIGN(m.layers, measure::measure_layers(tune::to_plan(candidate, model.plan, known), model.graph.get(),
                                                   limits ? &*limits : nullptr, time, model.request.seconds, ended,
                                                   *control.clock));
    return {};
  };
  control.report("layers of the tuned model", 1);
  RIDGE_TRY(layers(tuning.candidate, tuning.best));
  if (!model.request.layers) return {};
  control.report("layers of the untuned model, for the page", 1);
  RIDGE_TRY(layers(tune::baseline_candidate(), tuning.baseline));
  if (!control.stopped() && ended() && (tuning.baseline.layers.empty() || tuning.best.layers.empty()))
    tuning.not_done.emplace_back("the time of each layer was not measured");
  return {};
}

// Results of a decision: the curve over the batch, the gain of batching, the deviation of the outputs.
Status add_consequences(const TuneModel& model, const tune::Search& search, const tune::Decision& decision,
                        tune::Store& store, const RunControl& control, tune::Tuning& tuning) {
  const TuneRequest& request = model.request;
  tuning.batching = model.batching.reason;
  if (model.batching.possible && !request.recorded) {
    RIDGE_ASSIGN(tune::BatchCurve curve, tune::measure_curve(decision, request.max_batch, search, *model.benchmark,
                                                             store, options_of(tune::Part::kCurve, model, control)));
    tuning.curve = std::move(curve.points);
    if (curve.late > 0 && !tuning.interrupted)
      tuning.not_done.push_back(tune::curve_not_done(curve.late, decision.candidate, request.max_batch));
  }
  tuning.batching_advice = tune::advise_batching(tuning.curve, decision.candidate.batch, request.goal.p99_ms);
  if (request.strategy == tune::Strategy::kFull) tuning.replay = tune::replay(tune::grid_of(search.measured()));
  RIDGE_ASSIGN(tuning.deviation, deviation_of(decision.candidate, model));
  return {};
}

// Says in one sentence each what --seconds left out up to the decision.
std::vector<std::string> not_done(const TuneModel& model, const tune::Tuning& tuning) {
  std::vector<std::string> all;
  if (tuning.interrupted || model.request.recorded) return all;
  const auto unjudged = std::count_if(tuning.admission.rejections.begin(), tuning.admission.rejections.end(),
                                      [](const auto& rejection) { return rejection.id == tune::kUnfinished; });
  if (unjudged > 0) all.push_back(fmt::format("{} of the engines and precisions were not tried", unjudged));
  for (const tune::SkipCount& skipped : tuning.skipped)
    if (skipped.reason.id == tune::kBudgetEnded.id)
      all.push_back(skipped.count == 1 ? "1 candidate was not measured"
                                       : fmt::format("{} candidates were not measured", skipped.count));
  if (!tuning.confirmed) all.emplace_back(tune::kNotConfirmedInTime);
  if (model.request.goal.rows_per_s && !tuning.at_load && tuning.choice != tune::Choice::kNone)
    all.emplace_back("the winner was not run at the load");
  return all;
}

Result<TuneResult> search(const TuneModel& model, tune::Space space, const RunControl& control) {
  const TuneRequest& request = model.request;
  RIDGE_ASSIGN(const tune::StoreKey key, store_key(model));
  tune::Store store(request.store, key);
  if (request.fresh) store.clear();
  const std::optional<tune::BatchingOutlook> outlook = tune::batching_outlook(space.entries);
  tune::Search search(std::move(space), request.goal, request.trials, request.strategy);
  tune::Exploration explored;
  TuneResult result;
  std::optional<tune::share::AtLoad> at_load;
  RIDGE_ASSIGN(const tune::Decision decision, decide(model, search, store, control, explored, at_load));

  result.tuning = tune::summarise({model.machine, model.plan, model.info, model.implementations, model.target},
                                  request.goal, search, explored, decision, model.untuned);
  result.tuning.batching_outlook = outlook;
  result.tuning.admission = model.admission;
  result.tuning.baseline.model_digest = key.model;
  result.tuning.at_load = at_load;
  result.tuning.not_done = not_done(model, result.tuning);
  RIDGE_TRY(add_consequences(model, search, decision, store, control, result.tuning));
  RIDGE_TRY(add_layers(model, control, result.tuning));
  result.verified_batch = tune::verified_batch(search);
  return result;
}

// The result beside the recorded one.
Status compare(const TuneRequest& request, TuneResult& result) {
  if (!request.recorded) return {};
  const tune::Tuning& before = *request.recorded;
  const tune::Tuning& now = result.tuning;
  if (before.shapes != now.shapes)
    return Error{Code::kFailed, "the stored result is for inputs " + before.shapes + ", this run of " + now.shapes +
                                    ": give the same --shape"};
  result.compared = tune::compare(before, now, request.strictness);
  result.tolerance_percent = request.strictness.tolerance_percent;
  return {};
}

Status save(const TuneModel& model, TuneResult& result) {
  const TuneRequest& request = model.request;
  if (request.repository.empty() || request.recorded || result.tuning.choice == tune::Choice::kNone) return {};
  RIDGE_ASSIGN(result.tuning.repository,
               write_entry(model, result.tuning, result.verified_batch, json_of(result.tuning)));
  return {};
}

}  // namespace

Result<TuneResult> tune(const TuneRequest& request, model::WholeModel whole, const RunControl& unwatched,
                        const FirstFigures& first) {
  RunControl control = unwatched;
  const TimePoint begin = control.clock->now();
  RIDGE_ASSIGN(const machine::Machine machine,
               probe(request, control, [&] { return can_open(request, whole.unbound, control); }));
  const tune::Budget budget(request.seconds, *control.clock);
  machine::DisturbanceWatch watch;
  control.watch = &watch;
  RIDGE_ASSIGN(Energy energy, open_energy(request));
  RIDGE_ASSIGN(
      const std::unique_ptr<TuneModel> model,
      prepare(request, machine, std::move(whole), budget, energy.meter ? &*energy.meter : nullptr, control, first));
  tune::Space space = tune::make_space(machine, *model->graph, model->implementations, space_options(*model));
  RIDGE_ASSIGN(TuneResult result, search(*model, std::move(space), control));
  tune::add_disturbance(watch.end(), result.tuning);
  for (const model::GraphInput& input : model->graph->input_specs) result.inputs.push_back(input.spec);
  if (const std::string& values = model->benchmark->untuned().non_finite(); !values.empty())
    result.tuning.baseline.advice = measure::not_finite(values);
  result.tuning.energy = energy.text;
  result.tuning.seconds = to_seconds(control.clock->now() - begin);
  RIDGE_TRY(compare(request, result));
  result.saved = save(*model, result);
  return result;
}

bool is_no(const TuneResult& result) {
  return result.compared.empty() ? result.tuning.choice == tune::Choice::kNone : tune::regressed(result.compared);
}

bool judged(const TuneResult& result) {
  return result.compared.empty() || tune::unjudged_reason(result.compared).empty();
}

}  // namespace ridge::app
