// Operators with a graph inside. Loops count their body per known trip, else once, and the node is marked as a lower
// bound. Of two branches the one with fewer FLOPs is counted (for a known condition its own), in every figure; weights
// of both.
#include <algorithm>
#include <memory>

#include "cost/rules.h"
#include "cost/trips.h"

namespace ridge::cost {
namespace {

using GraphPointer = std::shared_ptr<const model::Graph>;

struct Body {
  Costs costs;
  double needed_flops = 0;
  double read = 0, written = 0;
};

Body count_body(const model::Graph& graph, Precision precision) {
  Body body{.costs = count(graph, precision)};
  for (const NodeCost& node : body.costs.nodes) {
    body.needed_flops += node.needed_flops;
    body.read += node.bytes_read;
    body.written += node.bytes_written;
  }
  return body;
}

// Adds `times` executions. Weights are stored once, whatever the number of trips.
void add(Context& context, const Body& body, double times, double certain_times) {
  NodeCost& cost = context.work.cost;
  cost.flops += times * body.costs.flops;
  cost.macs += times * body.costs.macs;
  cost.needed_flops += certain_times * body.needed_flops;
  cost.bytes_read += times * body.read;
  cost.bytes_written += times * body.written;
  cost.weight_bytes += body.costs.weight_bytes;
  cost.parameters += body.costs.parameters;
  context.work.body_peak_bytes = std::max(context.work.body_peak_bytes, body.costs.peak_activation_bytes);
  context.work.body_without_rule.insert(context.work.body_without_rule.end(), body.costs.without_rule.begin(),
                                        body.costs.without_rule.end());
  if (!body.costs.unknown_shapes.empty()) context.mark_unknown();
}

// The nodes inside are counted with their own operands.
void drop_operands(Context& context) {
  std::fill(context.work.read.begin(), context.work.read.end(), 0.0);
  std::fill(context.work.written.begin(), context.work.written.end(), 0.0);
}

void branch(Context& context, double) {
  drop_operands(context);
  std::vector<Body> sides;
  for (const GraphPointer& side : bodies_of(context.node, context.inputs))
    sides.push_back(count_body(*side, context.precision));
  if (sides.empty()) return context.mark_unknown();
  std::ranges::stable_sort(sides, {}, [](const Body& side) { return side.costs.flops; });
  add(context, sides.front(), 1, 1);
  for (size_t i = 1; i < sides.size(); ++i) {
    context.work.cost.weight_bytes += sides[i].costs.weight_bytes;
    context.work.cost.parameters += sides[i].costs.parameters;
  }
}

// Loop, Scan, SequenceMap.
void loop(Context& context, double) {
  const std::vector<GraphPointer> bodies = bodies_of(context.node, context.inputs);
  drop_operands(context);
  if (bodies.empty()) return context.mark_unknown();
  const LoopTripCount trips = trips_of(context.node, context.inputs);
  if (!trips.known) context.mark_unknown();
  add(context, count_body(*bodies[0], context.precision), trips.count, trips.certain ? trips.count : 0);
}

constexpr Rule kControlRules[] = {
    {kOnnx, "If", branch},
    {kOnnx, "Loop", loop},
    {kOnnx, "Scan", loop},
    {kOnnx, "SequenceMap", loop},
};

}  // namespace

std::span<const Rule> control_rules() { return kControlRules; }

}  // namespace ridge::cost
