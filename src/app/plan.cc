#include "app/plan.h"

#include <nlohmann/json.hpp>

#include "app/plan_model.h"
#include "cost/data_sizes.h"
#include "cost/live_activations.h"
#include "model/inputs.h"
#include "plan/first_plan.h"

namespace ridge::app {
namespace {

plan::Plan bounded_plan(const PlannedModel& model) {
  if (!model.device.machine) return {};
  const PlanRequest& request = model.request;
  plan::Plan plan = plan::first_plan(*model.device.machine, model.costs,
                                     {.model = request.model,
                                      .shapes = input_shapes(model.graph),
                                      .batch = rows_of(model.graph),
                                      .threads = request.threads,
                                      .precision = request.precision});
  plan.engine = request.engine;
  return plan;
}

// The memory depends on it. Without it the reason is kept.
void add_engine_graph(PlannedModel& model) {
  if (!model.device.machine || !model.request.memory) return;
  if (model.unbound.is_ir()) {
    model.no_engine_graph = "it does not read OpenVINO's IR";
    return;
  }
  ask_for_engine_graph(model);
}

Result<PlannedModel> planned(const PlanRequest& request, const BoundModel& bound, const PlanControl& control) {
  PlannedModel model{.request = request,
                     .unbound = bound.unbound,
                     .graph = bound.graph,
                     .control = control,
                     .costs = cost::count(bound.graph, request.precision)};
  RIDGE_ASSIGN(model.device, know_device(request, control));
  model.plan = bounded_plan(model);
  RIDGE_ASSIGN(model.limits, limits_of(model.device, model.plan.threads));
  add_engine_graph(model);
  return model;
}

Status add_load_and_cost(const PlannedModel& model, ModelPlan& plan) {
  const PlanRequest& request = model.request;
  if (!request.load && !request.cost) return {};
  RIDGE_ASSIGN(const std::vector<sizing::Service> services, services_of(request.service, plan));
  if (request.load) plan.load = plan_load(*request.load, plan, services);
  if (!request.cost) return {};
  // One answer, one batch: what carries the load is what is paid for.
  CostSubject subject{
      .device = plan.device, .name = plan.forecast.device, .threads = plan.forecast.threads, .services = services};
  if (plan.load) subject.services = {plan.load->capacity.service};
  if (plan.load && plan.load->capacity.met) subject.carries = &plan.load->capacity;
  RIDGE_ASSIGN(plan.cost, plan_cost(*request.cost, subject));
  return {};
}

predict::Forecast first_forecast(const PlannedModel& model) {
  predict::Forecast forecast = forecast_of(model, rows_of(model.graph), model.costs);
  forecast.shapes = input_shapes(model.graph);
  if (std::string note = cost::note_on_data_sizes(model.graph); !note.empty())
    forecast.notes.push_back(std::move(note));
  const std::vector<double> live = cost::live_activations(model.graph, model.request.precision);
  for (size_t n = 0; n < live.size(); ++n)
    if (forecast.layers[n].runs) forecast.layers[n].live_bytes = live[n];
  return forecast;
}

}  // namespace

Result<BoundModel> bind(const PlanRequest& request, model::UnboundModel unbound) {
  RIDGE_ASSIGN(model::Graph graph, unbound.bind(request.binding));
  RIDGE_TRY(check_open_dimensions(request.model, graph));
  return BoundModel{std::move(unbound), std::move(graph)};
}

Result<ModelPlan> plan(const PlanRequest& request, const BoundModel& bound, const PlanControl& control) {
  RIDGE_ASSIGN(const PlannedModel model, planned(request, bound, control));
  ModelPlan plan;
  plan.forecast = first_forecast(model);
  plan.device = model.device;
  plan.reasons = model.plan.reasons;
  plan.no_engine_graph = model.no_engine_graph;
  plan.carried = carried_of(model, model.costs, rows_of(model.graph));
  RIDGE_ASSIGN(plan.curve, curve_of(model));
  if (request.measure) {
    RIDGE_ASSIGN(plan.measured, measure_run(model));
  }
  RIDGE_TRY(add_load_and_cost(model, plan));
  if (request.memory) {
    RIDGE_ASSIGN(plan.memory, plan_memory(*request.memory, model, plan.measured));
  }
  if (request.training) {
    RIDGE_ASSIGN(plan.training, plan_training(*request.training, model));
  }
  return plan;
}

bool is_no(const ModelPlan& plan) {
  return (plan.load && !plan.load->capacity.met) || (plan.memory && !plan.memory->fits()) ||
         (plan.training && !plan.training->point.fits);
}

Result<ModelPlan> plan_of(const Json& document) {
  ModelPlan plan;
  RIDGE_ASSIGN(plan.forecast, from_json<predict::Forecast>(document));
  const Json& layers = document["layers"];  // members that are only there where they are false
  for (size_t i = 0; i < plan.forecast.layers.size() && i < layers.size(); ++i) {
    plan.forecast.layers[i].has_rule = layers[i].value("has_rule", true);
    plan.forecast.layers[i].runs = layers[i].value("runs", true);
  }
  RIDGE_TRY(read_fields(document, [&](auto& visit) {
    visit.optional("curve", plan.curve);
    visit.optional("reasons", plan.reasons);
  }));
  if (document.contains("measured")) {
    RIDGE_ASSIGN(predict::EngineReport report, from_json<predict::EngineReport>(document["measured"]));
    plan.measured = MeasuredRun{std::move(report)};
  }
  // Estimates without a range are of earlier versions.
  if (document.contains("estimate") && document["estimate"].contains("range_ms")) {
    RIDGE_ASSIGN(plan.carried, from_json<predict::DeviceEstimate>(document));
    const Json held = document["estimate"].value("held_percent", Json::object());
    plan.carried->held = {.compute = held.value("compute", 0.0) / 100,
                          .memory = held.value("memory", 0.0) / 100,
                          .start = held.value("start", 0.0) / 100};
  }
  return plan;
}

}  // namespace ridge::app
