// ridge tune: finds the fastest way to run a model on this machine and writes a repository ready to serve.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "base/file.h"
#include "cli/interruption.h"
#include "cli/model_options.h"
#include "cli/terminal.h"
#include "cli/tune_admission.h"
#include "cli/tune_options.h"
#include "cli/tune_text.h"
#include "cli/verb.h"
#include "cost/costs.h"
#include "hw/energy_meter.h"
#include "hw/probe.h"
#include "measure/layers.h"
#include "model/external_files.h"
#include "model/reader.h"
#include "report/tune_page.h"
#include "tune/contest.h"
#include "tune/digest.h"
#include "tune/regression.h"
#include "tune/replay.h"
#include "tune/repository.h"
#include "tune/serving_config.h"
#include "tune/store.h"
#include "tune/tuner.h"
#include "tune/tuning.h"

namespace ridge::cli {
namespace {

Result<hw::Machine> probe(const TuneRequest& request, Progress& progress) {
  hw::LimitOptions how;
  how.fresh = request.options.fresh;
  how.progress = [&](const std::string& step, double share) { progress.update("machine: " + step, share); };
  return hw::know(how);
}

// The graph at `batch`, everything bound. A file that fixes its first dimension keeps it: its own batch is what is tuned.
Result<model::Graph> read(const TuneRequest& request, int64_t batch) {
  model::Binding binding = request.binding;
  if (!gives_rows(binding)) binding.batch = batch;
  binding.insist_on_batch = batch > 1;
  for (auto& [name, shape] : binding.shapes)
    if (!shape.empty()) shape[0] *= batch;
  RIDGE_ASSIGN(model::Graph graph, model::read(request.options.model, binding));
  RIDGE_TRY(check_symbols(request.options.model, graph));
  return graph;
}

// Each with its costs at batch 1 and 2. A model that cannot be read at batch 2 has a fixed batch.
std::vector<tune::PricedImplementation> price(const TuneRequest& request, const model::Graph& graph,
                                              const tune::Admission& admission) {
  const Result<model::Graph> two = read(request, 2);
  std::vector<tune::PricedImplementation> result;
  for (const tune::Admitted& admitted : admission.admitted)
    result.push_back(tune::priced(admitted.implementation, graph, two ? &*two : nullptr));
  return result;
}

// What all candidates share: model, engine, shapes at batch 1.
plan::Plan plan_of(const TuneRequest& request, const model::Graph& graph) {
  plan::Plan plan;
  plan.model = request.options.model;
  plan.engine = request.engine;
  plan.engine_library = request.options.engine_library;
  plan.options = request.engine_options;
  plan.shapes = input_shapes(graph);
  plan.batch = rows_of(graph);
  return plan;
}

// The machine's energy counters, or why there are none; only the objective that needs them fails without.
struct Energy {
  std::optional<hw::EnergyMeter> meter;
  std::string text;
};
Result<Energy> open_energy(const TuneRequest& request) {
  Result<hw::EnergyMeter> meter = hw::EnergyMeter::open();
  if (!meter && request.goal.objective == tune::Objective::kEnergy) return meter.error();
  if (!meter) return Energy{std::nullopt, "not measured: " + meter.error().message};
  Energy energy{std::move(*meter), ""};
  energy.text = energy.meter->source();
  return energy;
}

Result<std::unique_ptr<tune::Contest>> open(const TuneRequest& request, const plan::Plan& plan,
                                            const model::Graph& graph, Energy& energy) {
  tune::ContestOptions how;
  how.seconds = request.options.seconds;
  how.interrupted = interrupted;
  how.energy = energy.meter ? &*energy.meter : nullptr;
  return tune::Contest::open(plan, &graph, how);
}

// The untuned model against itself: its figures, and how far noise alone lets two measurements differ.
struct Untuned {
  tune::Trial trial;
  tune::Batching batching;
};
Result<Untuned> measure(tune::Contest& contest, Progress& progress) {
  progress.update("untuned: the engine's defaults", 0);
  Untuned untuned;
  untuned.batching = contest.check_batching();
  Result<tune::Trial> trial = contest.measure(tune::baseline_candidate(), tune::Effort::kLong);
  if (!trial && trial.error().code == Code::kCancelled)
    return Error{Code::kCancelled, "interrupted before the untuned model was measured; nothing was written"};
  if (!trial) return trial.error();
  untuned.trial = std::move(*trial);
  if (!untuned.trial.failure.empty()) return Error{Code::kFailed, untuned.trial.failure};
  return untuned;
}

Result<tune::StoreKey> store_key(const TuneRequest& request, const hw::Machine& machine, const plan::Plan& plan,
                                 const engine::Info& info) {
  RIDGE_ASSIGN(std::vector<std::string> files, model::external_files(plan.model));
  size_t slash = plan.model.rfind('/');
  std::string folder = slash == std::string::npos ? "" : plan.model.substr(0, slash + 1);
  for (std::string& file : files) file.insert(0, folder);
  files.insert(files.begin(), plan.model);
  RIDGE_ASSIGN(std::string digest, tune::digest_files(files));
  std::string engine = info.name + " " + info.version;
  for (const auto& [key, value] : request.engine_options) engine += " " + key + "=" + value;
  return tune::StoreKey{machine.id, engine, digest, tune::shapes_text(plan)};
}

// What the search works on and what it came to.
struct Found {
  tune::Tuning tuning;
  tune::ServingFacts facts;
  std::vector<tune::Compared> compared;  // with --compare
};

tune::ServingFacts facts_of(const TuneRequest& request, const Untuned& untuned, const tune::Tuning& tuning,
                            const engine::Signature& signature, int64_t verified_batch) {
  tune::ServingFacts facts;
  facts.name = request.options.name;
  facts.signature = signature;
  facts.best = tuning.candidate;
  const std::string& engine = tuning.candidate.engine.empty() ? request.engine : tuning.candidate.engine;
  if (engine == "openvino") facts.engine = engine;
  facts.precision = tuning.best.precision;
  facts.batches = untuned.batching.possible;
  facts.verified_batch = verified_batch;
  facts.batching = tuning.batching_advice;
  if (request.engine == "onnxruntime" && tuning.candidate.engine.empty()) facts.engine_options = request.engine_options;
  return facts;
}

// What is tuned, on what, and beside what.
struct Subject {
  const TuneRequest& request;
  const tune::Admission& admission;
  const hw::Machine& machine;
  const model::Graph& graph;
  const std::vector<tune::PricedImplementation>& implementations;
  const plan::Plan& plan;
  const Untuned& untuned;
};

tune::SpaceOptions limits_of(const Subject& subject) {
  const TuneOptions& options = subject.request.options;
  return {subject.request.goal, subject.untuned.batching.possible ? options.max_batch : 1, options.threads,
          options.search == "full" ? 0 : 1e3 * options.seconds / 20, subject.plan.batch};
}

// The guard judged rows that ran alone. Where ranges are found at run time, those of one batch share them.
Result<bool> keeps_rows_apart(const tune::Decision& decision, const TuneRequest& request, tune::Contest& contest) {
  if (decision.choice != tune::Choice::kCandidate || decision.candidate.batch == 1 || request.evaluation) return true;
  RIDGE_ASSIGN(const tune::Drift drift, contest.drift(decision.candidate));
  return tune::within(drift, request.guard);
}

// What was recorded may not run here any more, or lose too much accuracy.
Status check_admitted(const tune::Candidate& candidate, const tune::Admission& admission) {
  if (candidate == tune::baseline_candidate() || tune::admitted_as(candidate, admission) != nullptr) return {};
  std::string why;
  for (const tune::Refusal& refusal : admission.refusals)
    if (refusal.wish.variant == candidate.variant)
      why += fmt::format("; {} {}: {}", refusal.wish.engine, refusal.wish.variant, refusal.reason);
  return Error{Code::kFailed, "the stored result's " + tune::describe(candidate) + " may not be used now" + why};
}

// The winner of a search, or with --compare the recorded candidate again.
Result<tune::Decision> decide(const Subject& subject, tune::Search& search, tune::Contest& contest, tune::Store& store,
                              const tune::TuneOptions& how, tune::Explored& explored) {
  const std::optional<tune::Recorded>& recorded = subject.request.recorded;
  if (recorded) {
    RIDGE_TRY(check_admitted(recorded->candidate, subject.admission));
    return tune::remeasure(recorded->candidate, contest, subject.untuned.trial, how);
  }
  RIDGE_ASSIGN(explored, tune::explore(search, contest, store, how));
  while (true) {
    RIDGE_ASSIGN(tune::Decision decision, tune::confirm(search, contest, explored, subject.untuned.trial, how));
    RIDGE_ASSIGN(const bool keeps, keeps_rows_apart(decision, subject.request, contest));
    if (keeps) return decision;
    search.withdraw(decision.candidate, "its rows lose accuracy when they run together");
  }
}

std::vector<tune::Implementation> implementations_of(const tune::Admission& admission) {
  std::vector<tune::Implementation> result;
  for (const tune::Admitted& admitted : admission.admitted) result.push_back(admitted.implementation);
  return result;
}

// By the guard's verdict where the engine or the precision is another one.
Result<tune::Drift> drift_of(const tune::Candidate& candidate, const tune::Admission& admission,
                             tune::Contest& contest) {
  if (candidate == tune::baseline_candidate()) return tune::Drift{};
  const tune::Admitted* admitted = tune::admitted_as(candidate, admission);
  if (admitted != nullptr && !admitted->verdict.outputs.empty()) return admitted->verdict.worst;
  return contest.drift(candidate);
}

// Where the time of a run goes, before and after, for the page.
Status add_layers(const Subject& subject, tune::Tuning& tuning) {
  if (subject.request.options.html.empty() || interrupted()) return {};
  const std::vector<tune::Implementation> known = implementations_of(subject.admission);
  auto layers = [&](const tune::Candidate& candidate, measure::Measurement& m) -> Status {
    Result<cost::DeviceLimits> limits = cost::limits_of(subject.machine, m.threads);
    RIDGE_ASSIGN(m.layers, measure::measure_layers(tune::to_plan(candidate, subject.plan, known), &subject.graph,
                                                   limits ? &*limits : nullptr, std::chrono::seconds(1), interrupted));
    return {};
  };
  RIDGE_TRY(layers(tune::baseline_candidate(), tuning.baseline));
  return layers(tuning.candidate, tuning.best);
}

Result<Found> search(const Subject& subject, tune::Contest& contest, Progress& progress) {
  const TuneRequest& request = subject.request;
  RIDGE_ASSIGN(tune::StoreKey key, store_key(request, subject.machine, subject.plan, contest.info()));
  key.implementations = implementations_of(subject.admission);
  tune::Store store(request.options.store, key);
  if (request.options.fresh) store.clear();
  contest.admit(key.implementations);
  const bool full = request.options.search == "full";
  tune::Space space = tune::make_space(subject.machine, subject.graph, subject.implementations, limits_of(subject));
  const std::optional<tune::BatchingOutlook> outlook = tune::batching_outlook(space.entries);
  tune::Search search(std::move(space), request.goal, request.options.trials,
                      full ? tune::Strategy::kFull : tune::Strategy::kQuick);
  tune::TuneOptions how{request.goal, request.options.seconds, interrupted,
                        [&](const std::string& step, double share) { progress.update(step, share); }};
  tune::Explored explored;
  RIDGE_ASSIGN(const tune::Decision decision, decide(subject, search, contest, store, how, explored));

  Found found;
  tune::Tuning& tuning = found.tuning;
  tuning = tune::summarise({subject.machine, subject.plan, contest.info(), subject.implementations}, request.goal,
                           search, explored, decision, subject.untuned.trial);
  tuning.batching = subject.untuned.batching.reason;
  tuning.batching_outlook = outlook;
  if (subject.untuned.batching.possible && !request.recorded) {
    RIDGE_ASSIGN(tuning.curve, tune::measure_curve(decision, request.options.max_batch, search, contest, store, how));
  }
  tuning.batching_advice = tune::advise_batching(tuning.curve, decision.candidate.batch, request.goal.p99_ms);
  if (full) tuning.replay = tune::replay(tune::grid_of(search.measured()));
  RIDGE_ASSIGN(tuning.drift, drift_of(decision.candidate, subject.admission, contest));
  tuning.admission = subject.admission;
  RIDGE_TRY(add_layers(subject, tuning));
  found.facts = facts_of(request, subject.untuned, tuning, contest.signature(), tune::verified_batch(search));
  return found;
}

// The result beside the recorded one.
Status compare(const TuneRequest& request, Found& found) {
  if (!request.recorded) return {};
  const tune::Recorded& before = *request.recorded;
  RIDGE_ASSIGN(const tune::Recorded now, tune::recorded_from_json(tune::to_json(found.tuning)));
  if (!before.shapes.empty() && before.shapes != now.shapes)
    return Error{Code::kFailed, "the stored result is of inputs " + before.shapes + ", this run of " + now.shapes +
                                    ": give --shape as then"};
  found.compared = tune::compare(before, now, request.options.strictness);
  return {};
}

Result<std::string> save(const TuneRequest& request, const Found& found) {
  const std::string& repository = request.options.repository;
  if (repository.empty() || request.recorded || found.tuning.choice == tune::Choice::kNone) return std::string();
  tune::RepositoryEntry entry;
  entry.name = request.options.name;
  entry.model_file = request.options.model;
  const tune::Admitted* admitted = tune::admitted_as(found.tuning.candidate, found.tuning.admission);
  if (admitted != nullptr && !admitted->implementation.file.empty()) entry.model_file = admitted->implementation.file;
  RIDGE_ASSIGN(entry.external_files, model::external_files(entry.model_file));
  entry.config_pbtxt = tune::config_text(tune::serving_config(found.facts));
  entry.ovms_json = tune::ovms_text(found.facts);
  entry.tuning_json = dump_json(tune::to_json(found.tuning), true) + "\n";
  return tune::save(entry, repository, request.options.overwrite);
}

Json json_of(const Found& found) {
  Json json = tune::to_json(found.tuning);
  if (found.compared.empty()) return json;
  json["compared"] = tune::to_json(found.compared);
  json["regressed"] = tune::regressed(found.compared);
  return json;
}

Status write_page(const TuneRequest& request, const Found& found) {
  const std::string& path = request.options.html;
  if (path.empty()) return {};
  RIDGE_TRY(write_file_atomically(path, report::tune_page(json_of(found), request.language)));
  say("ridge tune: wrote " + path);
  return {};
}

// probe → read → plan → open → measure → admit → search → compare → save → report
Result<Found> run(const TuneRequest& request) {
  const TimePoint begin = Clock::now();
  Progress progress("tune");
  RIDGE_ASSIGN(const hw::Machine machine, probe(request, progress));
  RIDGE_ASSIGN(const model::Graph graph, read(request, 1));
  const plan::Plan plan = plan_of(request, graph);
  RIDGE_ASSIGN(Energy energy, open_energy(request));
  RIDGE_ASSIGN(const std::unique_ptr<tune::Contest> contest, open(request, plan, graph, energy));
  RIDGE_ASSIGN(const Untuned untuned, measure(*contest, progress));
  RIDGE_ASSIGN(const tune::Admission admission,
               admit({request, machine, graph, cost::count(graph), plan, contest->signature()},
                     [&](const std::string& step, double share) { progress.update(step, share); }));
  const std::vector<tune::PricedImplementation> implementations = price(request, graph, admission);
  RIDGE_ASSIGN(Found found,
               search({request, admission, machine, graph, implementations, plan, untuned}, *contest, progress));
  found.tuning.energy = energy.text;
  found.tuning.seconds = to_seconds(Clock::now() - begin);
  RIDGE_TRY(compare(request, found));
  RIDGE_ASSIGN(found.tuning.repository, save(request, found));
  progress.finish();
  RIDGE_TRY(write_page(request, found));
  return found;
}

int answer(const TuneRequest& request, const Found& found) {
  if (request.options.json)
    print_json(json_of(found));
  else
    print(request.recorded ? comparison_text(found.compared, request.options.strictness) : tuning_text(found.tuning));
  const bool no = request.recorded ? tune::regressed(found.compared) : found.tuning.choice == tune::Choice::kNone;
  return no ? kNo : kDone;
}

}  // namespace

int tune(std::span<const std::string> arguments) {
  TuneOptions options;
  CLI::App app;
  declare(app, options);
  if (Parsed parsed = parse(app, "tune", arguments); !parsed.go_on) return parsed.exit;
  Result<TuneRequest> request = request_of(options);
  if (!request) {
    const int status = fail("tune", request.error());
    return request.error().code == Code::kInvalid ? kUsage : status;
  }
  listen_for_interruption();
  Result<Found> found = run(*request);
  return found ? answer(*request, *found) : fail("tune", found.error());
}

}  // namespace ridge::cli
