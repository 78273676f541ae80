// The breakdown of a run's time: the engine's profile per node, beside the bound of each node.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "cost/costs.h"
#include "engine/engine.h"
#include "measure/measurement.h"
#include "model/graph.h"
#include "plan/plan.h"

namespace ridge::measure {

// Runs `plan` in a session of its own with profiling, for about `time`, at least three runs, and at most those whose
// profile is read in a second or two. Slowest layer first; none if interrupted before three runs. `seconds` as in
// engine::open_for().
Result<std::vector<Layer>> measure_layers(const plan::Plan& plan, const model::Graph* graph,
                                          const cost::DeviceLimits* limits, Nanoseconds time, double seconds,
                                          const std::function<bool()>& interrupted, Clock& clock = system_clock());

// The pure part: `optimised` is the graph that the engine really ran (its nodes carry the attributes), or null. Shapes
// come from the profile. A node that is not found in the graph has no rule. `model`: has own names; null: the engine's.
std::vector<Layer> layers_of(std::span<const engine::NodeTime> times, const model::Graph* optimised,
                             const model::Graph* model, const cost::DeviceLimits* limits);

// The same for an engine that does not write its graph but says which of the model's nodes a layer computes
// (NodeTime::sources); costs are then those of the nodes in `graph`, the model with all shapes bound.
std::vector<Layer> fused_layers_of(std::span<const engine::NodeTime> times, const model::Graph& graph,
                                   const cost::DeviceLimits* limits);

// The multiply-adds of a run by its layers, with the engine's shapes: for models of unknown shapes.
cost::Costs costs_of(std::span<const Layer> layers, Precision precision);

}  // namespace ridge::measure
