#include "measure/layers.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/log.h"
#include "base/temporary_folder.h"
#include "cost/count_node.h"
#include "engine/engines.h"
#include "measure/fused_layer.h"
#include "measure/operands.h"
#include "measure/own_nodes.h"
#include "measure/runner.h"
#include "model/optimised.h"

namespace ridge::measure {
namespace {

constexpr int kWarmUpRuns = 2;
constexpr int kLeastRuns = 3;
constexpr size_t kMostTimes =
    50'000;  // of all nodes in all runs: a profile of a million takes a minute and 700 MB to be read

// Nodes by name, "" where the file has none, and operator; several of one name (in subgraphs) stay in order.
using NodeIndex = std::multimap<std::pair<std::string, std::string>, GraphNode>;

void add_to_index(const model::Graph& graph, NodeIndex& index) {
  for (const model::Node& node : graph.nodes) {
    index.emplace(std::pair(node.named ? node.name : "", node.op), GraphNode{&graph, &node});
    for (const auto& [name, attribute] : node.attributes)
      if (const auto* body = std::get_if<std::shared_ptr<const model::Graph>>(&attribute); body != nullptr && *body)
        add_to_index(**body, index);
  }
}

// The node of each time. ONNX Runtime's profile names a node without a name after its operator and a number that its
// graph does not show, and lists nodes in the order of the graph: times and nodes without a name, if there are as many
// of an operator, belong to each other in this order. In a branch that was not taken there are more.
std::vector<GraphNode> nodes_of(std::span<const engine::NodeTime> times, NodeIndex index) {
  std::vector<GraphNode> nodes(times.size());
  std::map<std::string, std::vector<size_t>> unnamed;  // by operator: times
  for (size_t i = 0; i < times.size(); ++i) {
    const auto found = index.find({times[i].name, times[i].op});
    if (found != index.end())
      nodes[i] = index.extract(found).mapped();
    else
      unnamed[times[i].op].push_back(i);
  }
  for (const auto& [op, of_op] : unnamed) {
    if (index.count({"", op}) != of_op.size()) continue;
    for (const size_t time : of_op) nodes[time] = index.extract({"", op}).mapped();
  }
  return nodes;
}

void add_cost(Layer& layer, const cost::NodeCost& cost, double calls, const cost::DeviceLimits* limits) {
  layer.flops = cost.flops * calls;
  layer.macs = cost.macs * calls;
  layer.bytes = (cost.bytes_read + cost.bytes_written) * calls;
  layer.has_rule = cost.has_rule;
  if (layer.ms > 0) {
    layer.flops_per_s = layer.flops / layer.ms * 1e3;
    layer.bytes_per_s = layer.bytes / layer.ms * 1e3;
  }
  if (limits == nullptr) return;
  cost::Bound bound = cost::bound(cost, *limits);
  layer.bound_ms = bound.ms * calls;
  layer.limiter = bound.limiter;
  if (layer.ms > 0) layer.percent_of_limit = 100 * layer.bound_ms / layer.ms;
}

Layer timed(const engine::NodeTime& time, size_t position) {
  Layer layer;
  layer.position = static_cast<int>(position);
  layer.name = time.name;
  layer.op = time.op;
  layer.ms = time.mean_us / 1e3;
  layer.has_rule = false;
  return layer;
}

// So that a small model, whose runs are short, does not fill the profile.
int most_runs(const model::Graph* graph) {
  const size_t nodes = graph == nullptr ? 1 : std::max<size_t>(1, graph->nodes.size());
  return kWarmUpRuns + std::max(kLeastRuns, static_cast<int>(kMostTimes / nodes));
}

void sort_slowest_first(std::vector<Layer>& layers) {
  std::stable_sort(layers.begin(), layers.end(), [](const Layer& a, const Layer& b) { return a.ms > b.ms; });
}

}  // namespace

std::vector<Layer> layers_of(std::span<const engine::NodeTime> times, const model::Graph* optimised,
                             const model::Graph* model, const cost::DeviceLimits* limits) {
  NodeIndex index;
  if (optimised != nullptr) add_to_index(*optimised, index);
  const std::vector<GraphNode> nodes = nodes_of(times, std::move(index));
  std::vector<OwnNodes> own(times.size());
  if (model != nullptr) own = own_nodes(times, nodes, *model);
  std::vector<Layer> layers;
  for (size_t i = 0; i < times.size(); ++i) {
    const engine::NodeTime& time = times[i];
    const auto [graph, node] = nodes[i];
    Layer layer = timed(time, i);
    const double calls = time.runs > 0 ? static_cast<double>(time.calls) / time.runs : 1;
    if (node != nullptr && !model::has_body(*node))
      add_cost(layer,
               cost::count_node(*node, operands(*graph, node->inputs, time.inputs),
                                operands(*graph, node->outputs, time.outputs)),
               calls, limits);
    name_after(own[i], layer);
    layers.push_back(std::move(layer));
  }
  sort_slowest_first(layers);
  return layers;
}

std::vector<Layer> fused_layers_of(std::span<const engine::NodeTime> times, const model::Graph& graph,
                                   const cost::DeviceLimits* limits) {
  SourceNodes nodes(graph);
  std::vector<Layer> layers;
  for (const engine::NodeTime& time : times) {
    Layer layer = timed(time, layers.size());
    layer.kernel = time.provider;
    if (const std::optional<SourceLayer> source = nodes.take(time)) {
      add_cost(layer, source->cost, 1, limits);
      name_after(source->own, layer);
    }
    layers.push_back(std::move(layer));
  }
  sort_slowest_first(layers);
  return layers;
}

cost::Costs costs_of(std::span<const Layer> layers, Precision precision) {
  cost::Costs costs;
  for (const Layer& layer : layers) {
    if (layer.macs <= 0) continue;
    costs.flops += layer.flops;
    costs.macs += layer.macs;
    costs.nodes.push_back({.name = layer.name,
                           .op = layer.op,
                           .flops = layer.flops,
                           .macs = layer.macs,
                           .needed_flops = 2 * layer.macs,
                           .precision = precision});
  }
  return costs;
}

Result<std::vector<Layer>> measure_layers(const plan::Plan& plan, const model::Graph* graph,
                                          const cost::DeviceLimits* limits, Nanoseconds time, double seconds,
                                          const std::function<bool()>& interrupted, Clock& clock) {
  RIDGE_ASSIGN(TemporaryFolder folder, TemporaryFolder::make());
  plan::Plan profiled = plan;
  profiled.instances = 1;
  profiled.profile = true;
  const bool writes_graph = engine::named(plan.engine).writes_graph;
  if (writes_graph) profiled.optimised_model = folder.path() + "/optimised.onnx";
  RIDGE_ASSIGN(Runner runner, Runner::open(profiled, graph, 1, 1, clock, seconds));  // runs once
  const TimePoint end = clock.now() + time;
  constexpr int kLeast = kWarmUpRuns + kLeastRuns;
  const int most = most_runs(graph);
  int runs = 1;
  for (; (runs < kLeast || (clock.now() < end && runs < most)) && !(interrupted && interrupted()); ++runs)
    RIDGE_TRY(runner.run(0, nullptr));
  if (runs < kLeast) return std::vector<Layer>();
  RIDGE_ASSIGN(std::vector<engine::NodeTime> times, runner.session(0).take_profile(kWarmUpRuns));
  if (!writes_graph)
    return graph != nullptr ? fused_layers_of(times, *graph, limits) : layers_of(times, nullptr, nullptr, limits);
  Result<model::Graph> optimised = model::read_optimised(profiled.optimised_model);
  if (!optimised) log::warning("layers have times but no costs: {}", optimised.error().message);
  return layers_of(times, optimised ? &*optimised : nullptr, graph, limits);
}

}  // namespace ridge::measure
