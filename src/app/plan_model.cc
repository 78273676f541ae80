#include "app/plan_model.h"

#include <algorithm>

#include "app/known_machine.h"
#include "model/inputs.h"
#include "predict/device_limits.h"

namespace ridge::app {
namespace {

constexpr Nanoseconds kLongestQuestion = std::chrono::minutes(5);
constexpr Nanoseconds kMeasuredTime = std::chrono::seconds(2);
constexpr double kMemoryShare = 0.9;

}  // namespace

Result<PlanDevice> know_device(const PlanRequest& request, const PlanControl& control) {
  PlanDevice device;
  if (request.device) {
    device.gpu = request.device;
    device.here = request.gpu;
    device.memory_bytes = request.device->memory_bytes.value_or(0);
    return device;
  }
  const RunControl phase = control.begin(PlanPhase::kMachine);
  RIDGE_ASSIGN(device.machine, know_machine(request.fresh, phase));
  const machine::Memory& memory = device.machine->memory;
  device.memory_bytes = static_cast<double>(memory.limit_bytes.value_or(memory.total_bytes));
  return device;
}

Result<cost::DeviceLimits> limits_of(const PlanDevice& device, int threads, cost::Accumulate accumulate) {
  if (device.here) return predict::limits_of(*device.here, {}, accumulate);
  if (device.gpu) {
    RIDGE_ASSIGN(cost::DeviceLimits limits, cost::limits_of(*device.gpu, accumulate));
    predict::allow_tf32(limits);
    return limits;
  }
  return cost::limits_of(*device.machine, threads);
}

Result<model::Graph> graph_at(const PlannedModel& model, int64_t batch) {
  model::Binding binding = model.request.binding;
  binding.batch = batch;
  return model.unbound.bind(binding);
}

std::optional<model::Graph> graph_with_rows(const PlannedModel& model, int64_t rows) {
  Result<model::Graph> graph = graph_at(model, rows);
  // A full shape, or a batch fixed by the file, leaves the graph unchanged or contradicts the new batch.
  if (!graph || rows_of(*graph) != rows) return std::nullopt;
  return std::move(*graph);
}

ChildLimits engine_limits(const machine::Memory& memory) {
  int64_t most = memory.available_bytes > 0 ? memory.available_bytes : memory.total_bytes;
  if (memory.limit_bytes) most = std::min(most, *memory.limit_bytes);
  ChildLimits limits;
  limits.time = kLongestQuestion;
  limits.memory_bytes = static_cast<uint64_t>(kMemoryShare * static_cast<double>(most));
  return limits;
}

void ask_for_engine_graph(PlannedModel& model) {
  predict::GraphQuestion question;
  question.plan.model = model.plan.model;
  question.plan.engine = model.plan.engine;
  question.machine = model.device.machine->id;
  question.folder = predict::default_graph_folder();
  question.program = model.control.program;
  const ChildLimits limits = engine_limits(model.device.machine->memory);
  Result<predict::EngineGraph> engine = predict::EngineGraph::ask(model.unbound, question, limits);
  Result<model::Graph> graph = engine ? engine->at(model.graph, limits) : engine.error();
  if (!graph) {
    model.no_engine_graph = graph.error().message;
    return;
  }
  model.engine = std::make_unique<predict::EngineGraph>(std::move(*engine));
  model.engine_graph = std::move(*graph);
}

Result<model::Graph> engine_graph_at(const PlannedModel& model, const model::Graph& bound) {
  return model.engine->at(bound, engine_limits(model.device.machine->memory));
}

std::optional<predict::DeviceEstimate> carried_of(const PlannedModel& model, const cost::Costs& costs, int64_t rows) {
  if (!model.device.gpu) return std::nullopt;
  const Result<cost::DeviceLimits> limits = limits_of(model.device, 0, cost::Accumulate::kFp32);
  if (!limits || cost::bound(costs, *limits).ms <= 0) return std::nullopt;
  Result<predict::DeviceEstimate> carried =
      predict::estimate_on(*model.device.gpu, *limits, costs, model.request.precision, rows);
  return carried ? std::optional(std::move(*carried)) : std::nullopt;
}

Result<MeasuredRun> measure_run(const PlannedModel& model) {
  const RunControl phase = model.control.begin(PlanPhase::kMeasurement);
  phase.report("in a process of its own", 0);
  ChildLimits limits = engine_limits(model.device.machine->memory);
  limits.interrupted = phase.interrupted;
  const std::optional<MemoryRequest>& memory = model.request.memory;
  if (memory && memory->limit_bytes)
    limits.memory_bytes = std::min(limits.memory_bytes, static_cast<uint64_t>(*memory->limit_bytes));
  Result<predict::EngineReport> report = predict::ask_engine(model.plan, kMeasuredTime, limits, model.control.program);
  if (report) return MeasuredRun{std::move(*report)};
  if (memory && report.error().code == Code::kExhausted)
    return MeasuredRun{std::nullopt, static_cast<double>(limits.memory_bytes)};
  return wrap(report.error(), "--measure");
}

predict::Forecast forecast_of(const PlannedModel& model, int64_t batch, const cost::Costs& costs) {
  predict::Forecast forecast =
      predict::forecast(model.request.model, batch, model.request.precision, costs, model.limits);
  if (model.device.gpu) forecast.device_kind = "gpu";
  forecast.device_memory_bytes = model.device.memory_bytes;
  return forecast;
}

Result<std::vector<predict::CurvePoint>> curve_of(const PlannedModel& model) {
  std::vector<predict::CurvePoint> curve;
  if (!model.request.batch.is_curve()) return curve;
  for (const int64_t batch : predict::batches_of(model.request.batch)) {
    RIDGE_ASSIGN(const model::Graph graph, graph_at(model, batch));
    const cost::Costs costs = cost::count(graph, model.request.precision);
    curve.push_back(predict::curve_point(forecast_of(model, batch, costs)));
    if (const auto carried = carried_of(model, costs, rows_of(graph))) {
      curve.back().estimate_ms = carried->ms.likely;
      curve.back().estimate_slow_ms = carried->ms.slow;
    }
  }
  return curve;
}

}  // namespace ridge::app
