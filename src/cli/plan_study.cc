#include "cli/plan_study.h"

#include "cli/model_options.h"
#include "cli/plan_estimate.h"
#include "cli/plan_graph.h"
#include "cli/terminal.h"
#include "cost/data_sizes.h"
#include "cost/live_activations.h"
#include "limits/limits_store.h"
#include "plan/first_plan.h"
#include "predict/device_limits.h"

namespace ridge::cli {
namespace {

Result<machine::Machine> know_machine(bool fresh) {
  Progress progress("measure this machine");
  limits::LimitOptions how;
  how.fresh = fresh;
  how.progress = [&](const std::string& step, double share) { progress.update(step, share); };
  return limits::machine_with_limits(how);
}

plan::Plan plan_of(const Study& study) {
  const PlanOptions& options = study.request.options;
  if (!study.device.machine) return {};
  plan::PlanRequest wishes{options.model, input_shapes(study.graph), study.request.batch.first, options.threads,
                           study.request.precision};
  return plan::first_plan(*study.device.machine, study.costs, wishes);
}

predict::Forecast forecast_of(const Study& study, int64_t batch, const cost::Costs& costs) {
  predict::Forecast forecast =
      predict::forecast(study.request.options.model, batch, study.request.precision, costs, study.limits);
  if (study.device.gpu) forecast.device_kind = "gpu";
  forecast.device_memory_bytes = study.device.memory_bytes;
  return forecast;
}

bool can_be_estimated(const Study& study) { return study.efficiency && study.request.precision == Precision::kFp32; }

// Where something rests on it. A refusal is no error: there is no estimate then, and a note says why.
void ask_for_engine_graph(Study& study) {
  const bool asked = can_be_estimated(study) || wanted(study.request.options.memory);
  if (!study.device.machine || !asked) return;
  Result<model::Graph> graph = engine_graph(study, study.graph);
  if (graph)
    study.engine_graph = std::move(*graph);
  else
    study.no_engine_graph = graph.error().message;
}

// None for this machine, or if no rate of the device at the precision has a source.
std::optional<predict::DeviceEstimate> carried_of(const Study& study, const model::Graph& graph,
                                                  const cost::Costs& costs) {
  if (!study.device.gpu) return std::nullopt;
  const Result<cost::DeviceLimits> limits = limits_of(study.device, 0, cost::Accumulate::kFp32);
  if (!limits) return std::nullopt;
  Result<predict::DeviceEstimate> carried =
      predict::estimate_on(*study.device.gpu, *limits, costs, study.request.precision, rows_of(graph));
  return carried ? std::optional(std::move(carried).value()) : std::nullopt;
}

void add_live_activations(Study& study) {
  std::vector<double> live = cost::live_activations(study.graph, study.request.precision);
  for (size_t n = 0; n < live.size(); ++n)
    if (study.forecast.layers[n].runs) study.forecast.layers[n].live_bytes = live[n];
}

Result<std::vector<predict::CurvePoint>> curve_of(const Study& study) {
  std::vector<predict::CurvePoint> curve;
  if (!study.request.batch.is_curve()) return curve;
  for (int64_t batch : predict::batches_of(study.request.batch)) {
    RIDGE_ASSIGN(const model::Graph graph, graph_at(study, batch));
    cost::Costs costs = cost::count(graph, study.request.precision);
    curve.push_back(predict::curve_point(forecast_of(study, batch, costs)));
    if (study.estimate) {
      RIDGE_ASSIGN(const model::Graph executed, engine_graph(study, graph));
      RIDGE_ASSIGN(std::optional<predict::Estimate> estimate, estimate_of(study, executed));
      curve.back().estimate_ms = estimate->ms;
    }
    if (auto carried = carried_of(study, graph, costs)) {
      curve.back().estimate_ms = carried->ms.likely;
      curve.back().estimate_slow_ms = carried->ms.slow;
    }
  }
  return curve;
}

}  // namespace

Result<PlanDevice> know_device(const PlanRequest& request) {
  PlanDevice device;
  if (request.device) {
    device.gpu = request.device;
    device.here = request.gpu;
    device.memory_bytes = request.device->memory_bytes.value_or(0);
    return device;
  }
  RIDGE_ASSIGN(device.machine, know_machine(request.options.fresh));
  const machine::Memory& memory = device.machine->memory;
  device.memory_bytes = static_cast<double>(memory.limit_bytes.value_or(memory.total_bytes));
  return device;
}

Result<cost::DeviceLimits> limits_of(const PlanDevice& device, int threads, cost::Accumulate accumulate) {
  if (device.here) return predict::limits_of(*device.here, {}, accumulate);
  if (device.gpu) return cost::limits_of(*device.gpu, accumulate);
  return cost::limits_of(*device.machine, threads);
}

Result<model::Graph> graph_at(const Study& study, int64_t batch) {
  model::Binding binding = study.request.binding;
  binding.batch = batch;
  return study.unbound.bind(binding);
}

Result<std::optional<predict::Estimate>> estimate_of(const Study& study, const model::Graph& graph) {
  std::optional<predict::Estimate> none;
  if (!can_be_estimated(study)) return none;
  const predict::EstimateOptions how{.threads = study.plan.threads,
                                     .instances = study.request.options.instances,
                                     .rows = rows_of(graph),
                                     .seen_error = seen_error(*study.efficiency)};
  RIDGE_ASSIGN(predict::Estimate estimate, predict::estimate(graph, *study.efficiency, *study.device.machine, how));
  return std::optional<predict::Estimate>(std::move(estimate));
}

Result<Study> study_of(const PlanRequest& request, model::UnboundModel unbound, model::Graph graph) {
  Study study{request, std::move(unbound), std::move(graph)};
  study.costs = cost::count(study.graph, request.precision);
  RIDGE_ASSIGN(study.device, know_device(request));
  study.plan = plan_of(study);
  RIDGE_ASSIGN(study.limits, limits_of(study.device, study.plan.threads));
  study.forecast = forecast_of(study, request.batch.first, study.costs);
  if (std::string note = cost::note_on_data_sizes(study.graph); !note.empty())
    study.forecast.notes.push_back(std::move(note));
  add_live_activations(study);
  if (study.device.machine) {
    RIDGE_ASSIGN(study.efficiency, known_efficiency(*study.device.machine, request.options));
  }
  ask_for_engine_graph(study);
  if (study.engine_graph) {
    RIDGE_ASSIGN(study.estimate, estimate_of(study, *study.engine_graph));
  }
  study.carried = carried_of(study, study.graph, study.costs);
  RIDGE_ASSIGN(study.curve, curve_of(study));
  return study;
}

}  // namespace ridge::cli
