#include "cli/plan_study.h"

#include "cli/model_options.h"
#include "cli/terminal.h"
#include "hw/probe.h"
#include "plan/first_plan.h"

namespace ridge::cli {
namespace {

Result<hw::Machine> know_machine(bool fresh) {
  Progress progress("measure this machine");
  hw::LimitOptions how;
  how.fresh = fresh;
  how.progress = [&](const std::string& step, double share) { progress.update(step, share); };
  return hw::know(how);
}

plan::Plan plan_of(const Study& study) {
  const PlanOptions& options = study.request.options;
  if (!study.device.machine) return {};
  plan::Wishes wishes{options.model, input_shapes(study.graph), study.request.batch.first, options.threads,
                      study.request.precision};
  return plan::first_plan(*study.device.machine, study.costs, wishes);
}

plan::Forecast forecast_of(const Study& study, int64_t batch, const cost::Costs& costs) {
  plan::Forecast forecast =
      plan::forecast(study.request.options.model, batch, study.request.precision, costs, study.limits);
  if (study.device.card) forecast.device_kind = "gpu";
  forecast.device_memory_bytes = study.device.memory_bytes;
  return forecast;
}

Result<std::vector<plan::CurvePoint>> curve_of(const Study& study) {
  std::vector<plan::CurvePoint> curve;
  if (!study.request.batch.is_curve()) return curve;
  for (int64_t batch : plan::batches_of(study.request.batch)) {
    model::Binding binding = study.request.binding;
    binding.batch = batch;
    RIDGE_ASSIGN(model::Graph graph, model::read(study.request.options.model, binding));
    cost::Costs costs = cost::count(graph, study.request.precision);
    curve.push_back(plan::curve_point(forecast_of(study, batch, costs)));
  }
  return curve;
}

}  // namespace

Result<PlanDevice> know_device(const PlanRequest& request) {
  PlanDevice device;
  if (request.device) {
    device.card = request.device;
    device.memory_bytes = request.device->memory_bytes.value_or(0);
    return device;
  }
  RIDGE_ASSIGN(device.machine, know_machine(request.options.fresh));
  const hw::Memory& memory = device.machine->memory;
  device.memory_bytes = static_cast<double>(memory.limit_bytes.value_or(memory.total_bytes));
  return device;
}

Result<cost::DeviceLimits> limits_of(const PlanDevice& device, int threads) {
  if (device.card) return cost::limits_of(*device.card);
  return cost::limits_of(*device.machine, threads);
}

Result<Study> study_of(const PlanRequest& request, model::Graph graph) {
  Study study;
  study.request = request;
  study.graph = std::move(graph);
  study.costs = cost::count(study.graph, request.precision);
  RIDGE_ASSIGN(study.device, know_device(request));
  study.plan = plan_of(study);
  RIDGE_ASSIGN(study.limits, limits_of(study.device, study.plan.threads));
  study.forecast = forecast_of(study, request.batch.first, study.costs);
  RIDGE_ASSIGN(study.curve, curve_of(study));
  return study;
}

}  // namespace ridge::cli
