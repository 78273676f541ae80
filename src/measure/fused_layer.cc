#include "measure/fused_layer.h"

#include <algorithm>
#include <vector>

#include "cost/count_node.h"
#include "measure/operands.h"

namespace ridge::measure {
namespace {

Precision arithmetic_of(const engine::NodeTime& time) {
  switch (time.inputs.empty() ? DataType::kInvalid : time.inputs.front().first) {
    case DataType::kBf16: return Precision::kBf16;
    case DataType::kFp16: return Precision::kFp16;
    case DataType::kInt8:
    case DataType::kUint8: return Precision::kInt8;
    default: return Precision::kFp32;
  }
}

}  // namespace

SourceNodes::SourceNodes(const model::Graph& graph)
    : graph_(graph), given_(graph.outputs.begin(), graph.outputs.end()) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const model::Node& node = graph.nodes[i];
    by_name_.emplace(node.name, i);
    for (int tensor : node.outputs)
      if (tensor >= 0) producers_.emplace(tensor, i);
    for (int tensor : node.outputs)
      if (tensor >= 0) by_name_.emplace(graph.tensors[static_cast<size_t>(tensor)].name, i);
    for (int tensor : node.inputs) readers_[tensor].insert(i);
  }
}

std::set<size_t> SourceNodes::nodes_of(const engine::NodeTime& time) {
  std::set<size_t> nodes;
  for (const std::string& source : time.sources) {
    const auto found = by_name_.find(source);
    if (found != by_name_.end() && taken_.insert(found->second).second) nodes.insert(found->second);
  }
  if (!time.multiplies) return nodes;
  auto product = [&](size_t node) { return is_product(node); };
  if (std::none_of(nodes.begin(), nodes.end(), product)) add_folded_product(nodes);
  return std::any_of(nodes.begin(), nodes.end(), product) ? nodes : std::set<size_t>();
}

bool SourceNodes::is_product(size_t index) const {
  const model::Node& node = graph_.nodes[index];
  return cost::count_node(node, operands(graph_, node.inputs, {}), operands(graph_, node.outputs, {})).macs > 0;
}

void SourceNodes::add_folded_product(std::set<size_t>& nodes) {
  for (size_t index : std::set<size_t>(nodes)) {
    for (int tensor : graph_.nodes[index].inputs) {
      const auto producer = producers_.find(tensor);
      if (producer == producers_.end() || taken_.contains(producer->second) || !is_product(producer->second)) continue;
      taken_.insert(producer->second);
      nodes.insert(producer->second);
      return;
    }
  }
}

std::optional<SourceLayer> SourceNodes::take(const engine::NodeTime& time) {
  const std::set<size_t> nodes = nodes_of(time);
  if (nodes.empty()) return std::nullopt;
  const Precision precision = arithmetic_of(time);
  SourceLayer layer;
  for (size_t index : nodes) layer.own.nodes.push_back({&graph_, &graph_.nodes[index]});
  cost::NodeCost& whole = layer.cost;
  whole.precision = precision;
  std::set<int> made, read;
  for (size_t index : nodes) made.insert(graph_.nodes[index].outputs.begin(), graph_.nodes[index].outputs.end());
  for (size_t index : nodes) {
    const model::Node& node = graph_.nodes[index];
    const cost::NodeWork work =
        cost::work_of(node, operands(graph_, node.inputs, {}), operands(graph_, node.outputs, {}), precision);
    whole.flops += work.cost.flops;
    whole.macs += work.cost.macs;
    whole.needed_flops += work.cost.needed_flops;
    whole.has_rule = whole.has_rule && work.cost.has_rule;
    for (size_t i = 0; i < node.inputs.size() && i < work.read.size(); ++i)
      if (!made.contains(node.inputs[i]) && read.insert(node.inputs[i]).second) whole.bytes_read += work.read[i];
    for (size_t i = 0; i < node.outputs.size() && i < work.written.size(); ++i) {
      const std::set<size_t>& readers = readers_[node.outputs[i]];
      const bool inside = std::includes(nodes.begin(), nodes.end(), readers.begin(), readers.end());
      if (given_.contains(node.outputs[i]) || !inside) whole.bytes_written += work.written[i];
    }
  }
  return layer;
}

}  // namespace ridge::measure
