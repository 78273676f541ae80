// The steps of `ridge plan MODEL`: the device, the model on it, and the answer to each question. app::plan() calls them
// in order.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/plan.h"
#include "cost/costs.h"
#include "llm/serving.h"
#include "model/graph.h"
#include "plan/plan.h"
#include "predict/optimised_graph.h"

namespace ridge::app {

// Reads the machine, and measures its limits if unknown; a GPU needs neither.
Result<PlanDevice> know_device(const PlanRequest& request, const PlanControl& control);
// `threads` applies to the CPU only, `accumulate` to GPUs.
Result<cost::DeviceLimits> limits_of(const PlanDevice& device, int threads,
                                     cost::Accumulate accumulate = cost::Accumulate::kAny);

// The load of a language model that is served, by the request's options. Errors are of the request.
Result<llm::Load> serving_load(const PlanRequest& request);
// Serving on this machine, with prompts of at most `prompt` tokens; what keeps it from being predicted goes to `notes`.
Result<std::optional<llm::cpu::ServingHere>> plan_here(const PlanRequest& request, const LlmSource& source,
                                                       int64_t prompt, const PlanDevice& device,
                                                       std::vector<std::string>& notes);

// The model on its device. Immutable once plan() has built it.
struct PlannedModel {
  const PlanRequest& request;
  const model::UnboundModel& unbound;
  const model::Graph& graph;  // at the first batch, like costs and plan
  const PlanControl& control;
  cost::Costs costs;
  PlanDevice device = {};
  cost::DeviceLimits limits = {};
  plan::Plan plan = {};                               // on the CPU
  std::unique_ptr<predict::EngineGraph> engine = {};  // its graph for all sizes; null: not requested, or refused
  std::optional<model::Graph> engine_graph = {};      // at the first batch; absent like it
  std::string no_engine_graph = {};                   // reason of the refusal
};

// The model at another batch; absent where the file or a full shape fixes the batch.
Result<model::Graph> graph_at(const PlannedModel& model, int64_t batch);
std::optional<model::Graph> graph_with_rows(const PlannedModel& model, int64_t rows);
// Fills in `engine` and `engine_graph`, or the reason of a refusal.
void ask_for_engine_graph(PlannedModel& model);
// The engine's graph in place of `bound`, which is at another batch.
Result<model::Graph> engine_graph_at(const PlannedModel& model, const model::Graph& bound);
// Memory for a process that opens a model: nine tenths of this machine's available memory.
ChildLimits engine_limits(const machine::Memory& memory);

// None for this machine, or if no rate of the GPU at the precision has a source. `costs`: of `rows`.
std::optional<predict::DeviceEstimate> carried_of(const PlannedModel& model, const cost::Costs& costs, int64_t rows);
// Runs the model in a child process for two seconds.
Result<MeasuredRun> measure_run(const PlannedModel& model);

predict::Forecast forecast_of(const PlannedModel& model, int64_t batch, const cost::Costs& costs);
Result<std::vector<predict::CurvePoint>> curve_of(const PlannedModel& model);

// The time of one run for load and cost, one per batch: given, measured, carried over, or else the bound. Errors: the
// file is not the output of `ridge bench --json`; the time is not known.
Result<std::vector<sizing::Service>> services_of(const ServiceRequest& request, const ModelPlan& plan);
LoadPlan plan_load(const LoadRequest& request, const ModelPlan& plan, const std::vector<sizing::Service>& services);

// The priced device, which runs something in one of several ways.
struct CostSubject {
  const PlanDevice& device;
  std::string name;  // of the device
  int threads = 1;   // on this machine
  std::vector<sizing::Service> services = {};
  std::string unit = "row";
  const sizing::Capacity* carries = nullptr;  // the load, if one was given and is met
};
Result<CostPlan> plan_cost(const CostRequest& request, const CostSubject& subject);

// `measured` may be empty.
Result<MemoryPlan> plan_memory(const MemoryRequest& request, const PlannedModel& model,
                               const std::optional<MeasuredRun>& measured);

Result<sizing::TrainingPlan> plan_training(const TrainingRequest& request, const PlannedModel& model);

}  // namespace ridge::app
