// The steps of `ridge plan MODEL`: the device, the model on it, and an answer to each question. app::plan() takes them in turn.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/plan.h"
#include "cost/costs.h"
#include "model/graph.h"
#include "plan/plan.h"

namespace ridge::app {

// Reads the machine, and measures its limits if they are not known; nothing of that for a GPU.
Result<PlanDevice> know_device(const PlanRequest& request, const PlanControl& control);
// `threads` counts for the CPU only, `accumulate` for GPUs.
Result<cost::DeviceLimits> limits_of(const PlanDevice& device, int threads,
                                     cost::Accumulate accumulate = cost::Accumulate::kAny);

// The model on its device. Immutable once plan() has made it.
struct PlannedModel {
  const PlanRequest& request;
  const model::UnboundModel& unbound;
  const model::Graph& graph;  // at the first batch, likewise costs and plan
  const PlanControl& control;
  cost::Costs costs;
  PlanDevice device = {};
  cost::DeviceLimits limits = {};
  plan::Plan plan = {};  // on the CPU
  std::optional<predict::Efficiency> efficiency = {};
  std::optional<model::Graph> engine_graph = {};  // what the engine runs; absent: not asked, or refused
  std::string no_engine_graph = {};               // why it was refused
};

// The model at another batch: an error where the file fixes the batch or a shape was given whole; the second is absent there.
Result<model::Graph> graph_at(const PlannedModel& model, int64_t batch);
std::optional<model::Graph> graph_with_rows(const PlannedModel& model, int64_t rows);
// The graph that the engine runs in place of `bound`. control.waiting is called where that takes longer than a second.
Result<model::Graph> ask_for_engine_graph(const PlannedModel& model, const model::Graph& bound);
// What a process may take that opens a model: nine tenths of the memory that this machine has left.
ChildLimits engine_limits(const machine::Memory& memory);

// What is known of this machine; calibrated first where that is wanted.
Result<std::optional<predict::Efficiency>> known_efficiency(const PlannedModel& model);
bool can_be_estimated(const PlannedModel& model);
// `graph`: what the engine runs; of the graph of a file the estimate is rough. None where it cannot be estimated.
Result<std::optional<predict::Estimate>> estimate_of(const PlannedModel& model, const model::Graph& graph);
// None for this machine, or if no rate of the GPU at the precision has a source. `costs`: of `rows`.
std::optional<predict::DeviceEstimate> carried_of(const PlannedModel& model, const cost::Costs& costs, int64_t rows);
// Runs the model beside a few of the calibration's, and adds the comparison to the ledger.
Result<StoredVerification> verify(const PlannedModel& model, const std::optional<predict::Estimate>& estimate);

predict::Forecast forecast_of(const PlannedModel& model, int64_t batch, const cost::Costs& costs);
// Of `estimated`: the points have an estimate too.
Result<std::vector<predict::CurvePoint>> curve_of(const PlannedModel& model, bool estimated);

// The time of one run that load and cost start from, one per batch: given, measured, estimated, or else the bound. Errors: the file is
// not what `ridge bench --json` prints; the time is not known.
Result<std::vector<sizing::Service>> services_of(const ServiceRequest& request, const ModelPlan& plan);
LoadPlan plan_load(const LoadRequest& request, const ModelPlan& plan, const std::vector<sizing::Service>& services);

// What is priced: a device that runs something in one of several ways.
struct CostSubject {
  const PlanDevice& device;
  std::string name;  // of the device
  int threads = 1;   // on this machine
  std::vector<sizing::Service> services;
  std::string unit = "row";
};
Result<CostPlan> plan_cost(const CostRequest& request, const CostSubject& subject);

Result<MemoryPlan> plan_memory(const MemoryRequest& request, const PlannedModel& model);

Result<sizing::TrainingPlan> plan_training(const TrainingRequest& request, const PlannedModel& model);

}  // namespace ridge::app
