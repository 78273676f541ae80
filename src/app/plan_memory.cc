// The device memory needed to run or train the model, and what fits into it.
#include <algorithm>
#include <functional>

#include "app/plan_model.h"

namespace ridge::app {
namespace {

void set_limit(const MemoryRequest& request, const PlanDevice& device, MemoryPlan& plan) {
  plan.limit = request.limit_bytes.value_or(device.memory_bytes);
  if (request.limit_bytes)
    plan.limit_origin = "--memory-limit";
  else if (device.here)
    plan.limit_origin = "of the device, from its driver";
  else if (device.gpu)
    plan.limit_origin = "of the device (datasheet)";
  else
    plan.limit_origin = device.machine->memory.limit_bytes ? "of the control group" : "of the machine";
}

// The largest batch, from the peak at a second batch; none where the batch is fixed.
Result<std::optional<int64_t>> max_batch_of(const PlannedModel& model, const MemoryPlan& plan,
                                            const std::function<Result<double>(const model::Graph&)>& peak_of) {
  const int64_t batch = model.request.batch.first, other = 2 * std::max<int64_t>(batch, 2);
  const std::optional<model::Graph> graph = graph_with_rows(model, other);
  if (!graph) return std::optional<int64_t>();
  RIDGE_ASSIGN(const double peak_two, peak_of(*graph));
  const predict::MemoryLine line{.batch_one = static_cast<double>(batch),
                                 .batch_two = static_cast<double>(other),
                                 .peak_one = plan.peak,
                                 .peak_two = peak_two};
  return std::optional(predict::largest_batch(line, plan.limit));
}

// At another batch, from the engine's graph if it was available for the first one.
Result<double> peak_here(const PlannedModel& model, const model::Graph& graph) {
  if (!model.engine_graph) return predict::inference_memory(graph, nullptr).peak;
  RIDGE_ASSIGN(const model::Graph executed, engine_graph_at(model, graph));
  return predict::inference_memory(graph, &executed, model.engine->open_results()).peak;
}

Status add_process(const PlannedModel& model, const std::optional<MeasuredRun>& measured, MemoryPlan& plan) {
  plan.process = model.engine_graph
                     ? predict::inference_memory(model.graph, &*model.engine_graph, model.engine->open_results())
                     : predict::inference_memory(model.graph, nullptr);
  plan.peak = plan.needed = plan.process->peak;
  RIDGE_ASSIGN(plan.max_batch,
               max_batch_of(model, plan, [&](const model::Graph& graph) { return peak_here(model, graph); }));
  plan.instances = predict::instances_that_fit(*plan.process, plan.limit);
  plan.measured = measured;
  if (measured)
    plan.needed = measured->report ? static_cast<double>(measured->report->steady.peak)
                                   : std::max(measured->stopped_at, plan.limit + 1);
  return {};
}

Status add_gpu(const PlannedModel& model, MemoryPlan& plan) {
  const auto need = [](const cost::Costs& costs) {
    return costs.weight_bytes + costs.peak_activation_bytes + predict::kAssumedContextBytes;
  };
  plan.weights = model.costs.weight_bytes;
  plan.activations = model.costs.peak_activation_bytes;
  plan.peak = plan.needed = need(model.costs);
  RIDGE_ASSIGN(plan.max_batch, max_batch_of(model, plan, [&](const model::Graph& graph) {
                 return need(cost::count(graph, model.request.precision));
               }));
  plan.instances = std::max<int64_t>(0, static_cast<int64_t>(plan.limit / plan.peak));
  return {};
}

Precision arithmetic_of(sizing::TrainingPrecision precision) {
  switch (precision) {
    case sizing::TrainingPrecision::kFp32: return Precision::kFp32;
    case sizing::TrainingPrecision::kMixed: return Precision::kFp16;
    case sizing::TrainingPrecision::kBf16: return Precision::kBf16;
  }
  return Precision::kFp32;
}

// Peaks with FP32 accumulators: training frameworks do not accumulate in FP16.
Result<sizing::TrainingDevice> training_device(const PlannedModel& model, sizing::TrainingPrecision precision) {
  sizing::TrainingDevice device;
  device.memory_bytes = model.device.memory_bytes;
  cost::DeviceLimits limits = model.limits;
  if (model.device.gpu) {
    RIDGE_ASSIGN(limits, limits_of(model.device, 0, cost::Accumulate::kFp32));
    device.reserved_bytes = sizing::kAssumedReservedBytes;
  }
  device.name = limits.device;
  device.origin = cost::origin_at(limits, arithmetic_of(precision));
  device.flops_per_s = cost::rate_of(limits, arithmetic_of(precision)).flops_per_s;
  return device;
}

}  // namespace

Result<MemoryPlan> plan_memory(const MemoryRequest& request, const PlannedModel& model,
                               const std::optional<MeasuredRun>& measured) {
  MemoryPlan plan;
  set_limit(request, model.device, plan);
  RIDGE_TRY(model.device.gpu ? add_gpu(model, plan) : add_process(model, measured, plan));
  return plan;
}

Result<sizing::TrainingPlan> plan_training(const TrainingRequest& request, const PlannedModel& model) {
  sizing::TrainingQuestion question;
  question.setup = request.setup;
  question.link = request.link;
  RIDGE_ASSIGN(question.device, training_device(model, request.setup.precision));
  question.assumptions = sizing::assumed_for(request.setup.precision);
  if (request.overlap) question.assumptions.overlap = *request.overlap;
  if (request.efficiency) {
    question.assumptions.efficiency = *request.efficiency;
    question.assumptions.efficiency_source = "--efficiency";
  }
  question.one = &model.graph;
  question.batch = model.request.batch.first;
  question.batch_of_two = 2 * question.batch;
  const std::optional<model::Graph> two = graph_with_rows(model, question.batch_of_two);
  if (two) question.two = &*two;
  return sizing::plan_training(question);
}

}  // namespace ridge::app
