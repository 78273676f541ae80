// Operators with a graph inside. Loops count their body once per trip: as many as are known, else one and the node is
// marked as a lower bound. Of two branches the dearer is counted, and as needed the smaller demand of both.
#include <algorithm>
#include <memory>

#include "cost/rules.h"

namespace ridge::cost {
namespace {

using GraphPointer = std::shared_ptr<const model::Graph>;

GraphPointer body_of(const Context& context, const char* name) {
  return model::attribute_or(context.node, name, GraphPointer());
}

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
  GraphPointer then_graph = body_of(context, "then_branch"), else_graph = body_of(context, "else_branch");
  drop_operands(context);
  if (!then_graph || !else_graph) return context.mark_unknown();
  Body first = count_body(*then_graph, context.precision), second = count_body(*else_graph, context.precision);
  if (first.costs.flops < second.costs.flops) std::swap(first, second);
  add(context, first, 1, 0);
  context.work.cost.needed_flops = std::min(first.needed_flops, second.needed_flops);
}

// Inputs: most trips, condition, carried values. A condition can end the loop earlier than the number of trips says.
void loop(Context& context, double) {
  GraphPointer graph = body_of(context, "body");
  drop_operands(context);
  if (!graph) return context.mark_unknown();
  bool counted = context.has_input(0) && context.inputs[0].values && context.inputs[0].values->size() == 1;
  if (!counted) context.mark_unknown();
  double trips = counted ? static_cast<double>(std::max<int64_t>(0, context.inputs[0].values->front())) : 1;
  bool certain = counted && !context.has_input(1);
  add(context, count_body(*graph, context.precision), trips, certain ? trips : 0);
}

// The last num_scan_inputs inputs are cut along an axis (0 unless scan_input_axes says otherwise): its length is the
// number of trips.
void scan(Context& context, double) {
  GraphPointer graph = body_of(context, "body");
  int64_t scanned = context.integer("num_scan_inputs", 0);
  drop_operands(context);
  if (!graph || scanned < 1 || static_cast<size_t>(scanned) > context.inputs.size()) return context.mark_unknown();
  const Shape* x = context.input_shape(context.inputs.size() - static_cast<size_t>(scanned));
  std::vector<int64_t> axes = context.integers("scan_input_axes");
  int64_t axis = axes.empty() ? 0 : axes.front();
  double trips = 1;
  if (x != nullptr) {
    if (axis < 0) axis += static_cast<int64_t>(x->size());
    if (axis < 0 || axis >= static_cast<int64_t>(x->size())) return context.mark_unknown();
    trips = static_cast<double>((*x)[static_cast<size_t>(axis)]);
  }
  add(context, count_body(*graph, context.precision), trips, x != nullptr ? trips : 0);
}

// Once per element of a sequence whose length only the data know.
void sequence_map(Context& context, double) {
  GraphPointer graph = body_of(context, "body");
  drop_operands(context);
  context.mark_unknown();
  if (graph) add(context, count_body(*graph, context.precision), 1, 0);
}

constexpr Rule kRules[] = {
    {kOnnx, "If", branch},
    {kOnnx, "Loop", loop},
    {kOnnx, "Scan", scan},
    {kOnnx, "SequenceMap", sequence_map},
};

}  // namespace

std::span<const Rule> control_rules() { return kRules; }

}  // namespace ridge::cost
