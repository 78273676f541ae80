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
  plan::Plan plan = plan::first_plan(
      *model.device.machine, model.costs,
      {request.model, input_shapes(model.graph), request.batch.first, request.threads, request.precision});
  plan.engine = request.engine;
  return plan;
}

// Where something rests on it. A refusal is no error: there is no estimate then, and why is kept.
void add_engine_graph(PlannedModel& model) {
  const bool asked = can_be_estimated(model) || model.request.memory;
  if (!model.device.machine || !asked) return;
  Result<model::Graph> graph = ask_for_engine_graph(model, model.graph);
  if (graph)
    model.engine_graph = std::move(*graph);
  else
    model.no_engine_graph = graph.error().message;
}

Result<PlannedModel> planned(const PlanRequest& request, const BoundModel& bound, const PlanControl& control) {
  PlannedModel model{request, bound.unbound, bound.graph, control, cost::count(bound.graph, request.precision)};
  RIDGE_ASSIGN(model.device, know_device(request, control));
  model.plan = bounded_plan(model);
  RIDGE_ASSIGN(model.limits, limits_of(model.device, model.plan.threads));
  if (model.device.machine) {
    RIDGE_ASSIGN(model.efficiency, known_efficiency(model));
  }
  add_engine_graph(model);
  return model;
}

Status add_load_and_cost(const PlannedModel& model, ModelPlan& plan) {
  const PlanRequest& request = model.request;
  if (!request.load && !request.cost) return {};
  RIDGE_ASSIGN(const std::vector<sizing::Service> services, services_of(request.service, plan));
  if (request.load) plan.load = plan_load(*request.load, plan, services);
  if (!request.cost) return {};
  RIDGE_ASSIGN(plan.cost,
               plan_cost(*request.cost, {plan.device, plan.forecast.device, plan.forecast.threads, services}));
  return {};
}

predict::Forecast first_forecast(const PlannedModel& model) {
  predict::Forecast forecast = forecast_of(model, model.request.batch.first, model.costs);
  if (std::string note = cost::note_on_data_sizes(model.graph); !note.empty())
    forecast.notes.push_back(std::move(note));
  const std::vector<double> live = cost::live_activations(model.graph, model.request.precision);
  for (size_t n = 0; n < live.size(); ++n)
    if (forecast.layers[n].runs) forecast.layers[n].live_bytes = live[n];
  return forecast;
}

template <typename Value>
void add_members(Json& json, const Value& value) {
  const Json more = to_json(value);
  for (auto member = more.begin(); member != more.end(); ++member) json[member.key()] = member.value();
}

}  // namespace

Result<BoundModel> read_model(const PlanRequest& request) {
  RIDGE_ASSIGN(model::UnboundModel unbound, model::UnboundModel::read(request.model));
  RIDGE_ASSIGN(model::Graph graph, unbound.bind(request.binding));
  return BoundModel{std::move(unbound), std::move(graph)};
}

Result<ModelPlan> plan(const PlanRequest& request, const BoundModel& bound, const PlanControl& control) {
  RIDGE_ASSIGN(const PlannedModel model, planned(request, bound, control));
  ModelPlan plan;
  plan.forecast = first_forecast(model);
  plan.device = model.device;
  plan.reasons = model.plan.reasons;
  plan.efficiency = model.efficiency;
  plan.no_engine_graph = model.no_engine_graph;
  if (model.engine_graph) {
    RIDGE_ASSIGN(plan.estimate, estimate_of(model, *model.engine_graph));
  }
  plan.carried = carried_of(model, model.costs, rows_of(model.graph));
  RIDGE_ASSIGN(plan.curve, curve_of(model, plan.estimate.has_value()));
  if (request.verify) {
    RIDGE_ASSIGN(plan.verified, verify(model, plan.estimate));
  }
  RIDGE_TRY(add_load_and_cost(model, plan));
  if (request.memory) {
    RIDGE_ASSIGN(plan.memory, plan_memory(*request.memory, model));
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

Json to_json(const ModelPlan& plan) {
  Json json = to_json(plan.forecast);
  if (!plan.curve.empty()) json["curve"] = Json::array();
  for (const predict::CurvePoint& point : plan.curve) json["curve"].push_back(to_json(point));
  if (plan.estimate)
    add_members(json, *plan.estimate);
  else if (plan.carried)
    add_members(json, *plan.carried);
  if (plan.verified) json["verified"] = to_json(plan.verified->verification);
  if (plan.load) {
    json["load"] = to_json(plan.load->capacity);
    json["load"]["goal"] = to_json(plan.load->goal);
  }
  if (plan.cost) json["cost"] = to_json(*plan.cost);
  if (plan.memory) {
    json["memory"] = to_json(*plan.memory);
    json["memory_bytes"]["inference_peak"] = plan.memory->peak;
    json["max_batch"] = plan.memory->max_batch ? Json(*plan.memory->max_batch) : Json();
  }
  if (plan.training) {
    json["training"] = to_json(*plan.training);
    json["memory_bytes"]["training"] = plan.training->point.memory.total();
  }
  return json;
}

}  // namespace ridge::app
