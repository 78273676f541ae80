#include "app/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/device_energy.h"
#include "app/known_machine.h"
#include "base/log.h"
#include "cost/costs.h"
#include "engine/engines.h"
#include "engine/model_file.h"
#include "engine/run_limit.h"
#include "machine/disturbance.h"
#include "machine/probe.h"
#include "measure/joint_rows.h"
#include "model/inputs.h"
#include "model/rows.h"
#include "plan/first_plan.h"
#include "predict/device_limits.h"

namespace ridge::app {
namespace {

Error no_batch(const BenchRequest& request, const Status& why) {
  return invalid(
      fmt::format("{} cannot run with --batch {}, as its rows are not independent: {}; give the size of one "
                  "request by --shape",
                  request.model, *request.binding.batch, why.error().message));
}

Status check_batch(const BenchRequest& request, const model::UnboundModel& model, const model::Graph& graph) {
  if (!request.binding.insist_on_batch || graph.input_specs.empty()) return {};
  const Shape& shape = graph.input_specs.front().spec.shape;
  if (rows_of(graph) == request.binding.batch) {
    const Status tied = *request.binding.batch > 1 && has_open_batch(graph) ? check_rows_tied(model) : ok_status();
    return tied ? tied : no_batch(request, tied);
  }
  return Error{Code::kInvalid,
               fmt::format("{} has the fixed input shape {}, so it cannot run with --batch {}; export it with "
                           "an open first dimension",
                           request.model, shape_text(shape), *request.binding.batch)};
}

bool stores(Precision precision, DataType type) {
  switch (precision) {
    case Precision::kFp16: return type == DataType::kFp16;
    case Precision::kBf16: return type == DataType::kBf16;
    case Precision::kInt8: return type == DataType::kInt8 || type == DataType::kUint8;
    default: return false;
  }
}

// Some engines convert; for the others the file decides, so its weights must have that type.
Status check_precision(const BenchRequest& request, const model::Graph& graph) {
  if (request.precision == Precision::kFp32 || engine::named(request.engine).takes_precision) return {};
  const bool stored = std::any_of(graph.tensors.begin(), graph.tensors.end(), [&](const model::TensorInfo& tensor) {
    return tensor.role == model::TensorRole::kWeight && stores(request.precision, tensor.type);
  });
  if (stored) return {};
  return Error{Code::kInvalid,
               fmt::format("--precision {}: {} computes in the precision of the file, and this file has no "
                           "such weights; convert it, or use --engine {}",
                           precision_name(request.precision), request.engine,
                           engine::first_that(&engine::Engine::takes_precision).name)};
}

plan::Plan plan_script(const BenchRequest& request) {
  plan::Plan plan;
  plan.model = request.model;
  plan.device = plan::device_name(request.device);
  plan.threads = request.threads.value_or(1);
  plan.shapes.insert(request.binding.shapes.begin(), request.binding.shapes.end());
  return plan;
}

plan::Plan plan_model(const BenchRequest& request, const model::Graph& graph, const machine::Machine& machine) {
  plan::PlanRequest plan_request{request.model,   input_shapes(graph), rows_of(graph),
                                 request.threads, request.precision,   request.device};
  const bool here = request.device.kind == plan::DeviceKind::kCpu;
  if (here && !request.threads && request.instances > 1)
    plan_request.threads = std::max(1, machine::usable_threads(machine) / request.instances);
  return plan::first_plan(machine, cost::count(graph, request.precision), plan_request);
}

void add_request(const BenchRequest& request, plan::Plan& plan) {
  plan.engine = request.engine;
  plan.engine_library = request.engine_library;
  plan.instances = request.instances;
  plan.options = request.engine_options;
}

// Checks that rows together give what they give alone, if more than one are asked for.
Status check_joint(const BenchRequest& request, plan::Plan plan, const model::Graph& graph, Clock& clock) {
  if (!request.binding.insist_on_batch || *request.binding.batch < 2 || !has_open_batch(graph)) return {};
  const std::map<std::string, Shape> shapes = std::exchange(plan.shapes, {});
  RIDGE_ASSIGN(const std::unique_ptr<engine::Session> session,
               engine::open_for(to_seconds(request.how.max_time), plan, clock));
  const Status joint =
      measure::check_joint_rows(*session, &graph, {.precision = plan.precision, .shapes = shapes}, clock);
  return joint ? joint : no_batch(request, joint);
}

// Checks that the engine takes the model at all.
Status can_open(const BenchRequest& request, const model::Graph& graph, Clock& clock) {
  RIDGE_ASSIGN(const machine::Machine machine, machine::probe());
  plan::Plan plan = plan_model(request, graph, machine);
  add_request(request, plan);
  const auto session = engine::open_for(to_seconds(request.how.max_time), plan, clock);
  return session ? Status() : session.error();
}

// On a device other than the CPU; one missing from the catalogue is measured without a limit beside it.
Result<measure::Measurement> bench_on_device(const BenchRequest& request, const plan::Plan& plan,
                                             const model::Graph& graph, measure::BenchOptions how, Clock& clock) {
  Result<cost::DeviceLimits> limits = predict::limits_of(request.device, request.engine_options);
  if (limits) how.device = std::move(*limits);
  Result<measure::Measurement> measured = measure::bench(plan, &graph, nullptr, how, clock);
  if (measured && !limits) log::warning("no limit is known: {}", limits.error().message);
  return measured;
}

}  // namespace

Result<std::optional<model::UnboundModel>> read_model(const BenchRequest& request) {
  const std::string_view suffix = engine::named(request.engine).script_suffix;
  if (!suffix.empty() && request.model.ends_with(suffix)) return std::optional<model::UnboundModel>();
  RIDGE_ASSIGN(model::UnboundModel model, engine::read_model(request.model, request.engine_library));
  return std::optional(std::move(model));
}

Result<std::optional<model::Graph>> bind(const BenchRequest& request, const std::optional<model::UnboundModel>& model) {
  if (!model) return std::optional<model::Graph>();
  RIDGE_ASSIGN(model::Graph graph, model->bind(request.binding));
  RIDGE_TRY(check_open_dimensions(request.model, graph));
  RIDGE_TRY(check_batch(request, *model, graph));
  RIDGE_TRY(check_precision(request, graph));
  return std::optional(std::move(graph));
}

// probe → plan → measure
Result<measure::Measurement> bench(const BenchRequest& request, const std::optional<model::UnboundModel>& model,
                                   const std::optional<model::Graph>& graph, const RunControl& control) {
  RIDGE_TRY(engine::check_library(request.engine, request.engine_library));
  measure::BenchOptions how = request.how;
  how.interrupted = control.interrupted;
  how.progress = control.progress;
  std::optional<machine::DisturbanceWatch> watch;
  if (!graph) {
    plan::Plan plan = plan_script(request);
    how.watch = &watch.emplace();
    add_request(request, plan);
    how.energy_reason = "a script computes nothing";
    return measure::bench(plan, nullptr, nullptr, how, *control.clock);
  }
  const bool here = request.device.kind == plan::DeviceKind::kCpu;
  Result<machine::EnergyMeter> meter = energy_meter_of(request.device);
  how.energy = meter ? &*meter : nullptr;
  if (!meter) how.energy_reason = meter.error().message;
  RIDGE_ASSIGN(const machine::Machine machine,
               here ? know_machine(request.fresh, control, [&] { return can_open(request, *graph, *control.clock); })
                    : machine::probe());
  plan::Plan plan = plan_model(request, *graph, machine);
  add_request(request, plan);
  RIDGE_TRY(check_joint(request, plan, *graph, *control.clock));
  how.watch = &watch.emplace();
  Result<measure::Measurement> measured = here ? measure::bench(plan, &*graph, &machine, how, *control.clock)
                                               : bench_on_device(request, plan, *graph, how, *control.clock);
  if (measured) {
    RIDGE_ASSIGN(measured->model_digest, model->digest());
  }
  return measured;
}

measure::TracedLoad traced(std::vector<measure::TimedRun> runs, const measure::Measurement& measured) {
  return {"ridge bench " + measured.model, measured.concurrency, std::move(runs), measured.layers};
}

std::string trace_text(std::span<const measure::TracedLoad> loads) {
  return dump_json(measure::chrome_trace(loads)) + "\n";
}

}  // namespace ridge::app
