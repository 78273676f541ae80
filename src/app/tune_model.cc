#include "app/tune_model.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/about.h"
#include "app/known_machine.h"
#include "app/tune_admission.h"
#include "engine/engines.h"
#include "engine/run_limit.h"
#include "machine/probe.h"
#include "model/inputs.h"
#include "model/rows.h"
#include "precision/model_writer.h"
#include "predict/device_limits.h"
#include "tune/repository.h"
#include "tune/serving_config.h"
#include "tune/warmup_data.h"

namespace ridge::app {
namespace {

// Each with its costs at batch 1 and 2. A model that cannot be read at batch 2 has a fixed batch.
std::vector<tune::PricedImplementation> price(const TuneModel& model) {
  const Result<model::Graph> two = bind(model.request, model.unbound, 2);
  std::vector<tune::PricedImplementation> result;
  for (const tune::SelectedVariant& admitted : model.admission.admitted)
    result.push_back(tune::priced(admitted.implementation, *model.graph, two ? &*two : nullptr));
  return result;
}

plan::Plan plan_of(const TuneRequest& request, const model::Graph& graph) {
  plan::Plan plan;
  plan.model = request.model;
  plan.engine = request.engine;
  plan.engine_library = request.engine_library;
  plan.device = plan::device_name(request.device);
  plan.options = request.engine_options;
  plan.shapes = input_shapes(graph);
  plan.batch = rows_of(graph);
  return plan;
}

tune::Target target_of(const TuneRequest& request) {
  tune::Target target{request.device};
  if (target.on_cpu()) return target;
  Result<cost::DeviceLimits> limits = predict::limits_of(request.device, request.engine_options);
  if (limits)
    target.limits = std::move(*limits);
  else
    target.limits_reason = limits.error().message;
  return target;
}

// Returns the untuned model's answer if engine and precision are its own. Sessions of co-located models are closed in
// the end; then serve checks the rows of the others.
bool may_batch(const TuneModel& model, const tune::Candidate& candidate) {
  const tune::Candidate untuned = tune::baseline_candidate();
  const bool known = candidate.engine == untuned.engine && candidate.variant == untuned.variant;
  if (!model.batching.possible || known || model.benchmark == nullptr) return model.batching.possible;
  return tune::check_batching(*model.benchmark, candidate).possible;
}

tune::ServingFacts facts_of(const TuneModel& model, const tune::Tuning& tuning, int64_t verified_batch) {
  const TuneRequest& request = model.request;
  tune::ServingFacts facts;
  facts.name = request.name;
  facts.signature = model.signature;
  facts.best = tuning.candidate;
  facts.engine = engine::named(tune::engine_of(tuning.candidate, request.engine)).backend;
  facts.precision = tuning.best.precision;
  facts.batches = may_batch(model, tuning.candidate);
  facts.verified_batch = verified_batch;
  facts.batching = tuning.batching_advice;
  if (request.engine == facts.engine && tuning.candidate.engine.empty()) facts.engine_options = request.engine_options;
  facts.device = request.device;
  if (const tune::SelectedVariant* admitted = tune::admitted_as(tuning.candidate, model.admission); admitted != nullptr)
    for (const auto& [key, value] : admitted->implementation.options) facts.engine_options[key] = value;
  return facts;
}

// The untuned model: its engine's defaults at batch 1, and the limits of its device.
TuneModel plan_untuned(const TuneRequest& request, const machine::Machine& machine, model::UnboundModel unbound,
                       model::Graph graph, cost::Costs costs, const tune::Budget& budget) {
  plan::Plan plan = plan_of(request, graph);
  return {request,
          machine,
          target_of(request),
          std::move(unbound),
          std::make_unique<const model::Graph>(std::move(graph)),
          std::move(costs),
          budget,
          std::move(plan)};
}

Status measure_untuned(TuneModel& model, const RunControl& control) {
  control.report("untuned: the engine's defaults", 0);
  const Status tied = model::check_rows_tied(model.unbound);
  model.batching = tied ? tune::check_batching(*model.benchmark, tune::baseline_candidate())
                        : tune::Batching{false, tied.error().message};
  Result<tune::Trial> trial = model.benchmark->measure(tune::baseline_candidate(), tune::Effort::kLong);
  if (!trial && trial.error().code == Code::kCancelled)
    return Error{Code::kCancelled, "interrupted before the untuned model was measured; nothing was written"};
  if (!trial) return trial.error();
  model.untuned = std::move(*trial);
  if (!model.untuned.failure.empty()) return Error{Code::kFailed, model.untuned.failure};
  return {};
}

// The engines and precisions to search, each with its work and traffic. Frees the values of `whole`.
Status admit_variants(TuneModel& model, model::WholeModel whole, std::optional<precision::Samples> samples,
                      const RunControl& control) {
  RIDGE_ASSIGN(model.admission, admit({model.request, std::move(whole), model.machine, model.target, *model.graph,
                                       model.costs, model.plan, model.signature, model.budget, std::move(samples)},
                                      control));
  model.implementations = price(model);
  model.benchmark->admit(0, implementations_of(model.admission));
  return {};
}

// The limits of all usable threads, or of the GPU.
Result<cost::DeviceLimits> limits_for_tuning(const TuneModel& model) {
  return tune::limits_for(model.machine, model.target, machine::usable_threads(model.machine));
}

void report_bound(const TuneModel& model, const FirstFigures& first) {
  if (!first.bound) return;
  const Result<cost::DeviceLimits> limits = limits_for_tuning(model);
  if (limits)
    first.bound(cost::bound(model.costs, *limits), model.target.on_cpu() ? machine::usable_threads(model.machine) : 0);
}

// The untuned model's run time over its bound, now. Other runs are about as far from their bounds.
double slowdown(const TuneModel& model) {
  const Result<cost::DeviceLimits> limits = limits_for_tuning(model);
  const double bound_ms = limits ? cost::bound(model.costs, *limits).ms : 0;
  return bound_ms > 0 ? std::max(1.0, model.untuned.baseline.latency_ms.p50 / bound_ms) : 1;
}

void report_untuned(const TuneModel& model, const FirstFigures& first) {
  if (!first.untuned) return;
  const std::vector<tune::PricedImplementation> own = {
      tune::priced({.engine = model.plan.engine}, *model.graph, nullptr)};
  first.untuned(tune::untuned_measurement({model.machine, model.plan, model.info, own, model.target}, model.untuned));
}

Result<precision::Deviation> measured_deviation(const tune::Candidate& candidate, const TuneModel& model) {
  if (!model.last_deviation || model.last_deviation->first != candidate) {
    RIDGE_ASSIGN(const precision::Deviation deviation, tune::deviation(*model.benchmark, candidate));
    model.last_deviation = {candidate, deviation};
  }
  return model.last_deviation->second;
}

}  // namespace

Result<machine::Machine> probe(const TuneRequest& request, const RunControl& control,
                               const std::function<Status()>& can_run) {
  RIDGE_TRY(engine::check_library(request.engine, request.engine_library));
  if (request.device.kind != plan::DeviceKind::kCpu) return machine::probe();  // the CPU's limits do not apply there
  return know_machine(request.fresh, control, can_run);
}

Status can_open(const TuneRequest& request, const model::UnboundModel& model, const RunControl& control) {
  RIDGE_ASSIGN(const model::Graph graph, bind(request, model, 1));
  const auto session = engine::open_for(request.seconds, plan_of(request, graph), *control.clock);
  return session ? Status() : session.error();
}

Result<model::Graph> bind(const TuneRequest& request, const model::UnboundModel& unbound, int64_t batch) {
  model::Binding binding = request.binding;
  if (!gives_rows(binding)) binding.batch = batch;
  binding.insist_on_batch = batch > 1;
  for (auto& [name, shape] : binding.shapes)
    if (!shape.empty()) shape[0] *= batch;
  RIDGE_ASSIGN(model::Graph graph, unbound.bind(binding));
  RIDGE_TRY(check_open_dimensions(request.model, graph));
  return graph;
}

Result<std::unique_ptr<TuneModel>> prepare(const TuneRequest& request, const machine::Machine& machine,
                                           model::WholeModel whole, const tune::Budget& budget,
                                           machine::EnergyMeter* energy, const RunControl& control,
                                           const FirstFigures& first) {
  RIDGE_ASSIGN(model::Graph graph, bind(request, whole.unbound, 1));
  cost::Costs costs = cost::count(graph);
  auto model = std::make_unique<TuneModel>(
      plan_untuned(request, machine, whole.unbound, std::move(graph), std::move(costs), budget));
  report_bound(*model, first);
  RIDGE_TRY(open_untuned(*model, energy, control));
  RIDGE_ASSIGN(std::optional<precision::Samples> samples,
               read_samples(request, model->signature, model->plan, *model->graph));
  RIDGE_TRY(measure_untuned(*model, control));
  report_untuned(*model, first);
  RIDGE_TRY(admit_variants(*model, std::move(whole), std::move(samples), control));
  return model;
}

Status open_untuned(TuneModel& model, machine::EnergyMeter* energy, const RunControl& control) {
  tune::BenchmarkOptions how;
  how.seconds = model.request.seconds;
  how.interrupted = control.interrupted;
  how.energy = energy;
  how.watch = control.watch;
  RIDGE_ASSIGN(model.benchmark,
               tune::InterleavedBenchmark::open({{model.plan, model.graph.get()}}, how, *control.clock));
  model.benchmark->admit(0, implementations_of(model.admission));
  const engine::Session& untuned = model.benchmark->untuned().session(0);
  model.signature = untuned.signature();
  model.info = untuned.info();
  return {};
}

Result<tune::StoreKey> store_key(const TuneModel& model) {
  const plan::Plan& plan = model.plan;
  RIDGE_ASSIGN(std::string digest, model.unbound.digest());
  std::string engine = model.info.name + " " + model.info.version;
  if (!model.target.on_cpu()) engine += " on " + plan.device;
  for (const auto& [key, value] : model.request.engine_options) engine += " " + key + "=" + value;
  return tune::StoreKey{model.machine.id, engine, digest, tune::shapes_text(plan), implementations_of(model.admission)};
}

tune::SpaceOptions space_options(const TuneModel& model) {
  const TuneRequest& request = model.request;
  return {request.goal,
          model.batching.possible ? request.max_batch : 1,
          request.threads,
          request.strategy == tune::Strategy::kFull ? 0 : 1e3 * model.budget.seconds() / 20 / slowdown(model),
          model.plan.batch,
          model.target};
}

std::vector<tune::Implementation> implementations_of(const tune::VariantSelection& admission) {
  std::vector<tune::Implementation> result;
  for (const tune::SelectedVariant& admitted : admission.admitted) result.push_back(admitted.implementation);
  return result;
}

Result<precision::Deviation> deviation_of(const tune::Candidate& candidate, const TuneModel& model) {
  if (candidate == tune::baseline_candidate()) return precision::Deviation{};
  const tune::SelectedVariant* admitted = tune::admitted_as(candidate, model.admission);
  if (admitted != nullptr && !admitted->verdict.outputs.empty()) return admitted->verdict.worst;
  return measured_deviation(candidate, model);
}

Result<bool> keeps_rows_apart(const tune::Candidate& candidate, const TuneModel& model) {
  if (candidate.batch == 1) return true;
  if (!may_batch(model, candidate)) return false;
  if (model.request.evaluation) return true;
  RIDGE_ASSIGN(const precision::Deviation deviation, measured_deviation(candidate, model));
  return precision::within(deviation, model.request.guard);
}

Result<std::string> write_entry(const TuneModel& model, const tune::Tuning& tuning, int64_t verified_batch,
                                const Json& tuning_json) {
  const TuneRequest& options = model.request;
  tune::ServingFacts facts = facts_of(model, tuning, verified_batch);
  RIDGE_ASSIGN(facts.warmup, tune::warmup_data(model.signature, model.plan, model.graph.get(), facts.batches));
  tune::RepositoryEntry entry;
  entry.name = options.name;
  entry.model_file = options.model;
  entry.external_files = model.unbound.external_files();
  const tune::SelectedVariant* admitted = tune::admitted_as(tuning.candidate, model.admission);
  if (admitted != nullptr && !admitted->implementation.file.empty()) {
    entry.model_file = admitted->implementation.file;
    const std::string data = precision::data_file_of(entry.model_file);
    entry.external_files.clear();
    if (!data.empty()) entry.external_files.push_back(std::filesystem::path(data).filename().string());
  }
  entry.config_pbtxt = tune::config_text(tune::serving_config(facts));
  entry.ovms_json = tune::ovms_text(facts);
  for (const tune::WarmupInput& input : facts.warmup) entry.warmup_files.emplace_back(input.file, input.bytes);
  entry.tuning_json = dump_json(document(about(options.command, model.machine), tuning_json), true) + "\n";
  return tune::save(entry, options.repository, options.overwrite);
}

}  // namespace ridge::app
