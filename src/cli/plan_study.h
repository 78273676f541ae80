// What every form of `ridge plan MODEL` works on: model, device, costs and forecast.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/plan_options.h"
#include "cost/costs.h"
#include "machine/machine.h"
#include "model/graph.h"
#include "model/reader.h"
#include "plan/plan.h"
#include "predict/device_estimate.h"
#include "predict/estimate.h"

namespace ridge::cli {

// The device that is planned for: this machine's CPU, or a GPU: one of the catalogue, or in this machine.
struct PlanDevice {
  std::optional<machine::Machine> machine;
  std::optional<catalogue::CatalogueDevice> gpu;
  std::optional<limits::NvidiaGpu> here;  // the GPU is this one
  double memory_bytes = 0;                // what a model may take; 0: not known
};
// Reads the machine, and measures its limits if they are not known; nothing of that for a device of the catalogue.
Result<PlanDevice> know_device(const PlanRequest& request);
// `threads` counts for the CPU only, `accumulate` for GPUs.
Result<cost::DeviceLimits> limits_of(const PlanDevice& device, int threads,
                                     cost::Accumulate accumulate = cost::Accumulate::kAny);

struct Study {
  PlanRequest request;
  model::UnboundModel unbound;
  model::Graph graph;  // at the first batch, likewise costs, plan and forecast
  cost::Costs costs = {};
  PlanDevice device = {};
  cost::DeviceLimits limits = {};
  plan::Plan plan = {};
  predict::Forecast forecast = {};
  std::optional<predict::Efficiency> efficiency = {};  // of this machine, if it was calibrated
  std::optional<model::Graph> engine_graph =
      {};                            // what the engine runs in place of `graph`; absent: not asked, or refused
  std::string no_engine_graph = {};  // why it was refused
  std::optional<predict::Estimate> estimate = {};       // where the machine is calibrated
  std::optional<predict::DeviceEstimate> carried = {};  // of a device of the catalogue with a rate for the precision
  std::vector<predict::CurvePoint> curve = {};          // empty unless a range of batches was asked for
};
// `graph`: of `unbound`, as `request` binds it; it has no open symbols.
Result<Study> study_of(const PlanRequest& request, model::UnboundModel unbound, model::Graph graph);

// The study's model at another batch; an error where the file fixes the batch, or a shape was given whole.
Result<model::Graph> graph_at(const Study& study, int64_t batch);

// None for a device of the catalogue, another precision than was calibrated, or a machine that was not. `graph`: what the engine runs; of
// the graph of a file the estimate is rough.
Result<std::optional<predict::Estimate>> estimate_of(const Study& study, const model::Graph& graph);

}  // namespace ridge::cli
