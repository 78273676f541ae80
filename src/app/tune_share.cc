#include "app/tune_share.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "app/tune_model.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/units.h"
#include "measure/resident.h"
#include "tune/share/co_located_tuning.h"
#include "tune/share/solo_profile.h"

namespace ridge::app {
namespace {

constexpr double kLeastSearchShare = 0.25;  // of a model's part

// When each part of the whole time ends: every model alone, then all together, where the confirmation and the proof
// have about as much as the search. A part that runs over takes from the later ones.
class Timetable {
 public:
  // Begins now. `clock` outlives it.
  Timetable(const ShareRequest& request, const Clock& clock)
      : seconds_(request.common().seconds), models_(request.models.size()), clock_(clock), begin_(clock.now()) {}
  double part() const { return seconds_ / static_cast<double>(models_ + 1); }  // [s] of each model, and of all together
  TimePoint end_alone(size_t model) const { return end_of(static_cast<double>(model + 1)); }
  TimePoint end_of_search() const { return end_of(static_cast<double>(models_) + 0.5); }
  TimePoint end_of_confirmation() const { return end_of(static_cast<double>(models_) + 0.7); }
  TimePoint end_of_proof() const { return end_of(static_cast<double>(models_) + 0.85); }
  TimePoint end() const { return end_of(static_cast<double>(models_ + 1)); }
  double left(TimePoint end) const { return std::max(0.0, to_seconds(end - clock_.now())); }  // [s]
  std::function<bool()> over(TimePoint end) const {
    return [this, end] { return clock_.now() >= end; };
  }

 private:
  TimePoint end_of(double parts) const { return begin_ + from_seconds(parts * part()); }
  double seconds_;
  size_t models_;
  const Clock& clock_;
  TimePoint begin_;
};

// One model, measured alone, then closed: its memory is for the co-located measurement.
struct SoloModel {
  std::unique_ptr<TuneModel> model;
  tune::StoreKey key;
  tune::share::SoloProfile solo;
};

tune::TuneOptions tuning_options(const TuneRequest& request, double seconds, const RunControl& control) {
  return {request.goal, seconds, control.interrupted, control.progress};
}

Result<SoloModel> measure_alone(const TuneRequest& request, model::WholeModel whole, const machine::Machine& machine,
                                double seconds, double least_search_s, const RunControl& control) {
  const tune::Budget budget(seconds, *control.clock);
  RIDGE_ASSIGN(std::unique_ptr<TuneModel> model, prepare(request, machine, std::move(whole), budget, nullptr, control));
  RIDGE_ASSIGN(const tune::StoreKey key, store_key(*model));
  tune::Store store(request.store, key);
  if (request.fresh) store.clear();
  // The search gets this time even after a long preparation: without a measured candidate there is no result.
  const double search_s = std::max(budget.left(tune::Part::kSearch), least_search_s);
  RIDGE_ASSIGN(tune::share::SoloProfile solo,
               tune::share::explore_alone(
                   {machine, *model->graph, model->implementations, space_options(*model), request.trials},
                   *model->benchmark, store, tuning_options(request, search_s, control)));
  if (solo.measured.empty() && solo.explored.interrupted)
    return Error{Code::kCancelled, "interrupted before its first measurement; nothing was written"};
  if (solo.measured.empty()) return Error{Code::kFailed, "no candidate could be measured"};
  model->benchmark.reset();
  return SoloModel{std::move(model), key, std::move(solo)};
}

Result<std::vector<SoloModel>> measure_each_alone(const ShareRequest& request, std::vector<model::WholeModel> models,
                                                  const machine::Machine& machine, const Timetable& times,
                                                  const RunControl& control) {
  std::vector<SoloModel> all;
  for (size_t i = 0; i < request.models.size(); ++i) {
    const TuneRequest& one = request.models[i];
    const std::string& name = one.name;
    RunControl own = control;
    own.progress = [&](const std::string& step, double share) { control.report(name + " alone: " + step, share); };
    Result<SoloModel> alone = measure_alone(one, std::move(models[i]), machine, times.left(times.end_alone(i)),
                                            kLeastSearchShare * times.part(), own);
    if (!alone) return wrap(alone.error(), name);
    all.push_back(std::move(*alone));
  }
  return all;
}

// Key of all models together: a result holds only for these, in this order.
tune::StoreKey shared_key(const std::vector<SoloModel>& all) {
  tune::StoreKey key;
  std::string identities;
  for (const SoloModel& alone : all) {
    key.machine = alone.key.machine;
    key.engine += (key.engine.empty() ? "" : " | ") + alone.key.engine;
    key.shapes += (key.shapes.empty() ? "" : " | ") + alone.key.shapes;
    identities += alone.key.model + " ";
    for (const tune::Implementation& implementation : alone.key.implementations)
      identities += implementation.engine + " " + implementation.variant + " " + implementation.identity + " ";
  }
  key.model = digest_text(identities);
  return key;
}

std::vector<tune::BenchmarkedModel> models_of(const std::vector<SoloModel>& all) {
  std::vector<tune::BenchmarkedModel> models;
  for (const SoloModel& alone : all)
    models.push_back({alone.model->plan, alone.model->graph.get(), implementations_of(alone.model->admission)});
  return models;
}

// The models open together, and the search over their partitions.
struct CoLocatedSearch {
  const ShareRequest& request;
  const RunControl& control;
  const Timetable& times;
  const std::vector<SoloModel>& all;
  tune::share::ResourceBudget budget;
  tune::BenchmarkOptions how;
  std::vector<tune::BenchmarkedModel> models;
  tune::share::PartitionSearch search;
  std::unique_ptr<tune::InterleavedBenchmark> benchmark;
  std::string refuted = {};                      // why the last supposed answer is not one
  std::optional<tune::share::Proof> proof = {};  // of the last partition checked, alone; absent: its time was over
  bool proved = false;                           // one was, which is done in any case

  Status open() {
    RIDGE_ASSIGN(benchmark, tune::InterleavedBenchmark::open(models, how, *control.clock));
    return {};
  }
};

tune::share::ResourceBudget budget_of(const ShareRequest& request, const machine::Machine& machine) {
  const double given = static_cast<double>(request.memory_bytes.value_or(0));
  return {request.common().threads.value_or(machine::usable_threads(machine)),
          given > 0 ? given : tune::available_bytes(machine), static_cast<double>(measure::settled_resident_bytes())};
}

CoLocatedSearch together_of(const ShareRequest& request, const machine::Machine& machine,
                            const std::vector<SoloModel>& all, const Timetable& times, const RunControl& control) {
  std::vector<tune::share::CoLocatedModel> members;
  std::vector<tune::SkipCount> skipped;
  for (size_t i = 0; i < all.size(); ++i)
    members.push_back(
        tune::share::co_located_model_of(all[i].model->request.name, request.goals[i], all[i].solo, skipped));
  const tune::share::ResourceBudget budget = budget_of(request, machine);
  tune::share::PartitionSpace space = tune::share::make_partitions(members, budget);
  space.skipped.insert(space.skipped.begin(), skipped.begin(), skipped.end());
  tune::BenchmarkOptions how;
  how.interrupted = control.interrupted;
  how.seconds = times.left(times.end());
  how.watch = control.watch;
  how.end_by = times.end_of_search();
  return {request,        control,
          times,          all,
          budget,         how,
          models_of(all), tune::share::PartitionSearch(members, std::move(space), request.common().trials),
          nullptr};
}

Result<tune::CoLocatedTrial> measure_untuned(CoLocatedSearch& together) {
  Result<tune::CoLocatedTrial> trial =
      together.benchmark->measure(tune::share::untuned_partition(together.all.size()), tune::Effort::kLong);
  if (!trial && trial.error().code == Code::kCancelled)
    return Error{Code::kCancelled,
                 "interrupted before the models were measured together; nothing was written, each "
                 "model's solo results are kept in the store"};
  if (trial && !trial->failure.empty()) return Error{Code::kFailed, trial->failure};
  return trial;
}

// Batching must not cost accuracy.
Result<std::string> lost_accuracy(const std::vector<SoloModel>& all, const tune::share::Partition& partition,
                                  const RunControl& control) {
  for (size_t i = 0; i < all.size(); ++i) {
    TuneModel& model = *all[i].model;
    if (partition[i].batch == 1) continue;
    RIDGE_TRY(open_untuned(model, nullptr, control));
    const Result<bool> keeps = keeps_rows_apart(partition[i], model);
    model.benchmark.reset();
    if (!keeps) return keeps.error();
    if (!*keeps) return model.request.name + "'s rows lose accuracy when they run together";
  }
  return std::string();
}

// Says why the partition may not be the answer; empty if nothing spoke against it in the time there was. Free memory at
// the moment is not a goal that the defaults could miss; a given budget is. Closes the models.
Result<std::string> objection(CoLocatedSearch& together, const tune::share::Partition& partition) {
  together.benchmark.reset();
  together.proof.reset();
  RIDGE_ASSIGN(const std::string lost, lost_accuracy(together.all, partition, together.control));
  const double seconds = together.times.left(together.times.end_of_proof());
  if (!lost.empty() || (together.proved && seconds == 0)) return lost;
  together.proved = true;
  const std::vector<tune::share::CoLocatedModel>& members = together.search.members();
  tune::BenchmarkOptions how = together.how;
  how.seconds = 4 * seconds;  // of which it takes a quarter
  RIDGE_ASSIGN(together.proof, tune::share::prove(together.models, members, partition, how, *together.control.clock));
  const auto resident = static_cast<double>(together.proof->resident_bytes);
  const double budget = together.budget.memory_bytes;
  if (budget > 0 && resident > budget &&
      (together.request.memory_bytes || partition != tune::share::untuned_partition(partition.size())))
    return fmt::format("takes {}, more than the memory budget of {} (measured)", format_bytes(resident),
                       format_bytes(budget));
  return tune::share::refuted(*together.proof, members);
}

Result<tune::share::CoLocatedDecision> decide_together(CoLocatedSearch& together,
                                                       const tune::share::CoLocatedExploration& explored,
                                                       const tune::CoLocatedTrial& untuned,
                                                       const tune::TuneOptions& how) {
  return tune::confirm_unless(
      [&] {
        together.benchmark->end_by(together.times.end_of_confirmation());
        return tune::share::confirm(together.search, *together.benchmark, explored, untuned, how);
      },
      [&](const tune::share::CoLocatedDecision& decision) -> Result<tune::SkipReason> {
        RIDGE_ASSIGN(const std::string why_not, objection(together, decision.candidate));
        if (decision.choice != tune::Choice::kNone && !why_not.empty()) together.refuted = why_not;
        return tune::SkipReason{"not-proven", why_not};
      },
      [&](const tune::share::Partition& partition, const tune::SkipReason& why_not) {
        together.search.withdraw(partition, why_not);
        return together.open();
      });
}

// The candidate's own trial alone: its point on the curve over the batch.
const tune::Trial& solo_trial(const SoloModel& alone, const tune::Candidate& candidate) {
  for (const auto& [standing, trial] : alone.solo.measured)
    if (standing.candidate == candidate) return trial;
  return alone.model->untuned;
}

// The curve over the batch, measured alone, stretched by the slowdown of the chosen batch under co-location.
Result<tune::BatchCurve> shared_curve(const SoloModel& alone, const tune::Decision& decision, const Timetable& times,
                                      const RunControl& control) {
  const TuneModel& model = *alone.model;
  tune::Store store(model.request.store, alone.key);
  tune::Decision by_itself = decision;
  by_itself.trial = solo_trial(alone, decision.candidate);
  const bool untuned = decision.candidate == tune::baseline_candidate();
  const tune::Side& beside = untuned ? decision.trial.baseline : decision.trial.candidate;
  const tune::Side& solo = untuned ? by_itself.trial.baseline : by_itself.trial.candidate;
  tune::TuneOptions how = tuning_options(model.request, 0, control);
  how.late = times.over(times.end());
  model.benchmark->end_by(times.end());
  RIDGE_ASSIGN(tune::BatchCurve curve,
               tune::measure_curve(by_itself, model.request.max_batch, alone.solo.whole, *model.benchmark, store, how));
  for (tune::BatchPoint& point : curve.points) {
    const double rate = beside.rows_per_s / solo.rows_per_s;
    point.figures.rows_per_s *= rate;
    point.rows_per_s_ci95 = measure::scaled(point.rows_per_s_ci95, rate);
    tune::scale_times(point.figures, beside.latency_ms.p50 / solo.latency_ms.p50,
                      beside.latency_ms.p99 / solo.latency_ms.p99);
  }
  return curve;
}

// The model's own tuning, with its co-located figures.
Result<tune::Tuning> tuning_of(const SoloModel& alone, const tune::share::CoLocatedDecision& shared, size_t index,
                               const Timetable& times, const RunControl& control) {
  TuneModel& model = *alone.model;
  const tune::Candidate& candidate = shared.candidate[index];
  const tune::Trial& trial = shared.trial.models[index];
  const bool untuned = candidate == tune::baseline_candidate();
  const tune::Choice choice = shared.choice == tune::Choice::kNone ? tune::Choice::kNone
                              : untuned                            ? tune::Choice::kBaseline
                                                                   : tune::Choice::kCandidate;
  const tune::Decision decision{choice, candidate, untuned ? tune::kNoGain : tune::gain_of(trial.rate_log_ratios),
                                trial, shared.interrupted};
  tune::Tuning tuning =
      tune::summarise({model.machine, model.plan, model.info, model.implementations, model.target}, model.request.goal,
                      alone.solo.whole, alone.solo.explored, decision, model.untuned);
  RIDGE_TRY(open_untuned(model, nullptr, control));
  tuning.batching = model.batching.reason;
  if (model.batching.possible) {
    RIDGE_ASSIGN(tune::BatchCurve curve, shared_curve(alone, decision, times, control));
    tuning.curve = std::move(curve.points);
    if (curve.late > 0 && !shared.interrupted)
      tuning.not_done.push_back(tune::curve_not_done(curve.late, candidate, model.request.max_batch));
  }
  tuning.batching_advice = tune::advise_batching(tuning.curve, candidate.batch, model.request.goal.p99_ms);
  RIDGE_ASSIGN(tuning.deviation, deviation_of(candidate, model));
  model.benchmark.reset();
  tuning.admission = model.admission;
  tuning.energy = "not measured for models that share";
  return tuning;
}

Status save_all(const std::vector<SoloModel>& all, tune::share::CoLocatedTuning& sharing,
                const std::string& repository) {
  if (repository.empty() || sharing.choice == tune::Choice::kNone) return {};
  for (size_t i = 0; i < all.size(); ++i) {
    tune::Tuning& tuning = sharing.models[i].tuning;
    Json json = json_of(tuning);
    json["shared"] = tune::share::shared_json(sharing, i);
    RIDGE_ASSIGN(tuning.repository, write_entry(*all[i].model, tuning, tune::verified_batch(all[i].solo.whole), json));
  }
  sharing.repository = repository;
  return {};
}

Result<tune::share::CoLocatedTuning> result_of(const CoLocatedSearch& together,
                                               const tune::share::CoLocatedExploration& explored,
                                               const tune::share::CoLocatedDecision& decision,
                                               const tune::CoLocatedTrial& untuned, const RunControl& control) {
  tune::share::CoLocatedTuning sharing =
      tune::share::summarise_co_located(together.search, explored, decision, untuned, together.budget);
  sharing.memory.budget_source = together.request.memory_bytes ? "--memory" : "available";
  if (together.proof) sharing.memory.measured_bytes = static_cast<double>(together.proof->resident_bytes);
  sharing.refuted = together.refuted;
  if (!decision.interrupted && !decision.confirmed) sharing.not_done.emplace_back(tune::kNotConfirmedInTime);
  if (!decision.interrupted && !together.proof) sharing.not_done.emplace_back("the models were not run at their loads");
  const std::vector<tune::share::CoLocatedModel>& members = together.search.members();
  for (size_t i = 0; i < members.size(); ++i) {
    RIDGE_ASSIGN(tune::Tuning tuning, tuning_of(together.all[i], decision, i, together.times, control));
    for (const std::string& what : tuning.not_done) sharing.not_done.push_back(members[i].name + ": " + what);
    const tune::Side& side = decision.candidate[i] == tune::baseline_candidate() ? decision.trial.models[i].baseline
                                                                                 : decision.trial.models[i].candidate;
    sharing.models.push_back({members[i], std::move(tuning),
                              tune::share::fulfilment_of(members[i].goal, decision.candidate[i], side.figures()),
                              together.proof ? together.proof->at_load[i] : std::nullopt});
  }
  return sharing;
}

}  // namespace

// probe → each alone → partitions → co-located: untuned, explore, confirm → save
Result<ShareResult> tune_share(const ShareRequest& request, std::vector<model::WholeModel> models,
                               const RunControl& unwatched) {
  RunControl control = unwatched;
  const TimePoint begin = control.clock->now();
  RIDGE_ASSIGN(const machine::Machine machine, probe(request.common(), control, [&]() -> Status {
                 for (size_t i = 0; i < models.size(); ++i)
                   RIDGE_TRY(can_open(request.models[i], models[i].unbound, control));
                 return {};
               }));
  const Timetable times(request, *control.clock);
  machine::DisturbanceWatch watch;
  control.watch = &watch;
  RIDGE_ASSIGN(const std::vector<SoloModel> all,
               measure_each_alone(request, std::move(models), machine, times, control));
  CoLocatedSearch together = together_of(request, machine, all, times, control);
  RIDGE_TRY(together.open());
  control.report("together: the engines' defaults", 0);
  RIDGE_ASSIGN(const tune::CoLocatedTrial untuned, measure_untuned(together));
  tune::Store store(request.common().store, shared_key(all));
  if (request.common().fresh) store.clear();
  const tune::TuneOptions how{{},
                              times.left(times.end_of_search()),
                              control.interrupted,
                              control.progress,
                              times.over(times.end_of_confirmation())};
  RIDGE_ASSIGN(const tune::share::CoLocatedExploration explored,
               tune::share::explore(together.search, *together.benchmark, store, how));
  RIDGE_ASSIGN(const tune::share::CoLocatedDecision decision, decide_together(together, explored, untuned, how));
  together.benchmark.reset();
  RIDGE_ASSIGN(tune::share::CoLocatedTuning sharing, result_of(together, explored, decision, untuned, control));
  sharing.machine = machine;
  sharing.disturbance = watch.end();
  sharing.seconds = to_seconds(control.clock->now() - begin);
  Status saved = save_all(all, sharing, request.common().repository);
  return ShareResult{std::move(sharing), std::move(saved)};
}

}  // namespace ridge::app
