// Counts a graph's costs: node by node, then the totals.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <unordered_set>

#include "cost/costs.h"
#include "cost/count_node.h"
#include "cost/data_sizes.h"
#include "cost/live_activations.h"
#include "cost/residency.h"

namespace ridge::cost {
namespace {

constexpr std::array<std::pair<Limiter, std::string_view>, 3> kLimiters = {
    {{Limiter::kCompute, "compute"}, {Limiter::kMemory, "memory"}, {Limiter::kUnknown, "unknown"}}};

std::vector<Operand> operands_of(const std::vector<int>& tensors, const Residency& residency,
                                 const model::Graph& graph) {
  std::vector<Operand> operands;
  operands.reserve(tensors.size());
  for (int index : tensors) {
    Operand operand;
    operand.present = index >= 0;
    if (index >= 0) {
      const model::TensorInfo& tensor = graph.tensors[static_cast<size_t>(index)];
      operand.type = residency.stored_type[static_cast<size_t>(index)];
      operand.shape = tensor.shape;
      operand.weight = residency.constant[static_cast<size_t>(index)];
      operand.values = tensor.constant;
    }
    operands.push_back(std::move(operand));
  }
  return operands;
}

// Multiply-adds between two dequantised operands run as integers once the engine has fused the dequantisation.
bool is_quantised(const model::Node& node, const Residency& residency) {
  if (node.inputs.size() < 2) return false;
  return std::all_of(node.inputs.begin(), node.inputs.begin() + 2,
                     [&](int index) { return index >= 0 && residency.dequantised[static_cast<size_t>(index)]; });
}

NodeWork idle(const model::Node& node) {
  NodeWork work;
  work.cost.name = node.name;
  work.cost.op = node.op;
  work.cost.runs = false;
  return work;
}

double bytes_of(const model::Graph& graph, const Residency& residency, int index, Precision precision) {
  const model::TensorInfo& tensor = graph.tensors[static_cast<size_t>(index)];
  double size = stored_size(residency.stored_type[static_cast<size_t>(index)], precision);
  if (!tensor.shape) return 0;
  for (int64_t dimension : *tensor.shape) size *= static_cast<double>(std::max<int64_t>(dimension, 0));
  return size;
}

double bytes_of_all(const model::Graph& graph, const Residency& residency, const std::vector<int>& tensors,
                    Precision precision) {
  double bytes = 0;
  for (int index : tensors)
    if (index >= 0) bytes += bytes_of(graph, residency, index, precision);
  return bytes;
}

// The part of input `i` that the node reads, 0 to 1.
double share_read(const model::Graph& graph, const Residency& residency, const model::Node& node, const NodeWork& work,
                  size_t i, Precision precision) {
  const double bytes = bytes_of(graph, residency, node.inputs[i], precision);
  return bytes > 0 ? std::min(1.0, work.read[i] / bytes) : 0;
}

// Scales and zero points are read beside the weights that they dequantise.
void add_scales(const model::Graph& graph, const Residency& residency, const model::Node& node, Precision precision,
                NodeWork& work) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] < 0 || residency.scales[static_cast<size_t>(node.inputs[i])].empty()) continue;
    const double bytes =
        share_read(graph, residency, node, work, i, precision) *
        bytes_of_all(graph, residency, residency.scales[static_cast<size_t>(node.inputs[i])], precision);
    work.cost.bytes_read += bytes;
    work.cost.weight_bytes += bytes;
  }
}

std::vector<NodeWork> works_of(const model::Graph& graph, const Residency& residency, const DataSizes& sizes,
                               Precision precision) {
  std::vector<NodeWork> works;
  works.reserve(graph.nodes.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const model::Node& node = graph.nodes[n];
    works.push_back(residency.runs[n] ? work_of(node, operands_of(node.inputs, residency, graph),
                                                operands_of(node.outputs, residency, graph), precision)
                                      : idle(node));
    if (residency.runs[n]) add_scales(graph, residency, node, precision, works.back());
    NodeCost& cost = works.back().cost;
    if (sizes.nodes[n]) cost.needed_flops = 0;
    if (cost.needed_flops > 0 && is_quantised(node, residency)) cost.precision = Precision::kInt8;
  }
  return works;
}

// Weights of running nodes, each once; of one transposed at the load the bytes of both, the parameters once.
void add_weights(const model::Graph& graph, const Residency& residency, const std::vector<NodeWork>& works,
                 Precision precision, Costs& costs) {
  std::vector<bool> seen(graph.tensors.size()), counted(graph.tensors.size());
  for (size_t n = 0; n < works.size(); ++n) {
    if (!works[n].cost.runs) continue;
    const model::Node& node = graph.nodes[n];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] < 0) continue;
      size_t t = static_cast<size_t>(node.inputs[i]);
      if (!residency.constant[t] || seen[t]) continue;
      seen[t] = true;
      costs.weight_bytes += bytes_of(graph, residency, node.inputs[i], precision);
      for (int scale : residency.scales[t]) {
        if (seen[static_cast<size_t>(scale)]) continue;
        seen[static_cast<size_t>(scale)] = true;
        costs.weight_bytes += bytes_of(graph, residency, scale, precision);
      }
      if (const auto origin = static_cast<size_t>(residency.origin[t]); !counted[origin]) {
        counted[origin] = true;
        costs.parameters += parameters_of(node, i, residency.stored_type[t], graph.tensors[t].shape);
      }
    }
    if (has_body(node)) {  // its own weights, of all bodies together
      costs.weight_bytes += works[n].cost.weight_bytes;
      costs.parameters += works[n].cost.parameters;
    }
  }
}

// The necessary reads of each tensor, from the outputs backwards: views pass on their readers' demand, data-dependent
// reads are not certain, and only multiply-adds need their constants (others may be folded into neighbours).
void add_compulsory(const model::Graph& graph, const Residency& residency, const DataSizes& sizes,
                    const std::vector<NodeWork>& works, Precision precision, Costs& costs) {
  std::vector<double> need(graph.tensors.size(), 0.0);
  std::vector<bool> written(graph.tensors.size());
  for (int index : graph.outputs) {
    if (index < 0 || written[static_cast<size_t>(index)] || sizes.tensors[static_cast<size_t>(index)]) continue;
    written[static_cast<size_t>(index)] = true;
    need[static_cast<size_t>(index)] = bytes_of(graph, residency, index, precision);
    costs.compulsory_written += need[static_cast<size_t>(index)];
  }
  for (size_t n = works.size(); n-- > 0;) {
    const NodeWork& work = works[n];
    const model::Node& node = graph.nodes[n];
    if (!work.cost.runs) continue;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] < 0) continue;
      size_t index = static_cast<size_t>(node.inputs[i]);
      double wanted = sizes.nodes[n] || (i == 0 && work.sparse) ? 0 : work.read[i];
      if (work.view && !sizes.nodes[n])
        wanted =
            i == 0 && !node.outputs.empty() && node.outputs[0] >= 0 ? need[static_cast<size_t>(node.outputs[0])] : 0;
      if (residency.constant[index] && work.cost.needed_flops == 0) wanted = 0;
      need[index] = std::max(need[index], wanted);
      if (wanted <= 0) continue;
      const double share = share_read(graph, residency, node, work, i, precision);
      for (int scale : residency.scales[index])
        need[static_cast<size_t>(scale)] =
            std::max(need[static_cast<size_t>(scale)], share * bytes_of(graph, residency, scale, precision));
    }
  }
  std::unordered_set<int> inputs(graph.inputs.begin(), graph.inputs.end());
  for (size_t t = 0; t < need.size(); ++t)
    if (residency.constant[t] || inputs.contains(static_cast<int>(t))) costs.compulsory_read += need[t];
  costs.compulsory_bytes = costs.compulsory_read + costs.compulsory_written;
}

void add_without_rule(const model::Graph& graph, const std::vector<NodeWork>& works, Costs& costs) {
  std::map<std::string, int> times;
  for (size_t n = 0; n < works.size(); ++n) {
    const model::Node& node = graph.nodes[n];
    if (!works[n].cost.has_rule) ++times[(node.domain.empty() ? "ai.onnx" : node.domain) + "." + node.op];
    costs.without_rule.insert(costs.without_rule.end(), works[n].body_without_rule.begin(),
                              works[n].body_without_rule.end());
  }
  for (const auto& [name, count] : times) costs.without_rule.push_back(name + " × " + std::to_string(count));
}

struct Lives {
  std::vector<int> root;    // per tensor: the owner of its memory
  std::vector<size_t> end;  // per root: the last node that needs it
};

Lives lives_of(const model::Graph& graph, const Residency& residency, const std::vector<NodeWork>& works) {
  Lives lives{std::vector<int>(graph.tensors.size()), std::vector<size_t>(graph.tensors.size(), 0)};
  for (size_t t = 0; t < graph.tensors.size(); ++t) lives.root[t] = static_cast<int>(t);
  auto root = [&](int index) -> int& { return lives.root[static_cast<size_t>(index)]; };
  auto extend = [&](int index, size_t node) {
    if (index >= 0) lives.end[static_cast<size_t>(root(index))] = node;
  };
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const model::Node& node = graph.nodes[n];
    if (!works[n].cost.runs) continue;
    bool shares = works[n].view && !node.inputs.empty() && node.inputs[0] >= 0 && !node.outputs.empty();
    if (shares && node.outputs[0] >= 0) root(node.outputs[0]) = root(node.inputs[0]);
    for (int index : node.inputs) extend(index, n);
    for (int index : residency.captured[n]) extend(index, n);
    for (int index : node.outputs) extend(index, n);
  }
  for (int index : graph.outputs) extend(index, graph.nodes.size());
  return lives;
}

// Bytes of live activations while each node runs, in node order; 0 for a node that does not run: a tensor lives from
// its producer (inputs of the model: from the start) to its last reader or that of a view of it (outputs: to the end).
// Nothing is computed in place; the inside of a loop or branch counts while that node runs.
std::vector<double> live_bytes(const model::Graph& graph, const Residency& residency,
                               const std::vector<NodeWork>& works, const std::function<double(int tensor)>& bytes) {
  Lives lives = lives_of(graph, residency, works);
  std::vector<std::vector<double>> freed(graph.nodes.size() + 1);
  std::vector<double> at_node(graph.nodes.size(), 0.0);
  double live = 0;
  auto make = [&](int index) {
    if (index < 0 || lives.root[static_cast<size_t>(index)] != index || residency.constant[static_cast<size_t>(index)])
      return;
    double size = bytes(index);
    live += size;
    freed[lives.end[static_cast<size_t>(index)]].push_back(size);
  };
  for (int index : graph.inputs) make(index);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (works[n].cost.runs) {
      for (int index : graph.nodes[n].outputs) make(index);
      at_node[n] = live + works[n].body_peak_bytes;
    }
    for (double size : freed[n]) live -= size;
  }
  return at_node;
}

// Their maximum, at least the inputs of the model.
double peak_activation_bytes(const model::Graph& graph, const Residency& residency, const std::vector<NodeWork>& works,
                             const std::function<double(int tensor)>& bytes) {
  double peak = 0;
  for (int index : graph.inputs)
    if (index >= 0 && !residency.constant[static_cast<size_t>(index)]) peak += bytes(index);
  for (double live : live_bytes(graph, residency, works, bytes)) peak = std::max(peak, live);
  return peak;
}

}  // namespace

NameTable<Limiter> names_of(Limiter) { return kLimiters; }
std::string_view limiter_name(Limiter limiter) { return name_of(kLimiters, limiter); }

Costs count(const model::Graph& graph, Precision precision) {
  Residency residency = residency_of(graph);
  DataSizes sizes = data_sizes_of(graph, residency);
  std::vector<NodeWork> works = works_of(graph, residency, sizes, precision);
  Costs costs;
  for (const NodeWork& work : works) {
    const NodeCost& cost = work.cost;
    costs.flops += cost.flops;
    costs.macs += cost.macs;
    costs.data_flops += cost.data_flops;
    costs.bytes += cost.bytes_read + cost.bytes_written;
    if (!cost.shapes_known) costs.unknown_shapes.push_back(cost.name);
  }
  add_weights(graph, residency, works, precision, costs);
  add_compulsory(graph, residency, sizes, works, precision, costs);
  add_without_rule(graph, works, costs);
  auto size_of = [&](int index) { return bytes_of(graph, residency, index, precision); };
  costs.peak_activation_bytes = peak_activation_bytes(graph, residency, works, size_of);
  costs.nodes.reserve(works.size());
  for (NodeWork& work : works) costs.nodes.push_back(std::move(work.cost));
  return costs;
}

std::vector<double> live_activations(const model::Graph& graph, Precision precision) {
  Residency residency = residency_of(graph);
  std::vector<NodeWork> works = works_of(graph, residency, data_sizes_of(graph, residency), precision);
  auto size_of = [&](int index) { return bytes_of(graph, residency, index, precision); };
  return live_bytes(graph, residency, works, size_of);
}

}  // namespace ridge::cost
