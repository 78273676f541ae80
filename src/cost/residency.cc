#include "cost/residency.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#include "cost/operators.h"

namespace ridge::cost {
namespace {

using GraphPointer = std::shared_ptr<const model::Graph>;

bool all_constant(const model::Node& node, const std::vector<bool>& constant) {
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](int index) { return index < 0 || constant[static_cast<size_t>(index)]; });
}

void names_in(const model::Graph& graph, std::unordered_set<std::string_view>& names) {
  for (const model::TensorInfo& tensor : graph.tensors) names.insert(tensor.name);
  for (const model::Node& node : graph.nodes)
    for (const auto& [key, attribute] : node.attributes)
      if (const GraphPointer* body = std::get_if<GraphPointer>(&attribute); body && *body) names_in(**body, names);
}

// Outer tensors whose name occurs inside the node's bodies. A name only redefined inside counts as a use: that may keep
// an unneeded node alive, but never drops a needed one.
std::vector<int> captured_by(const model::Node& node, const std::unordered_map<std::string_view, int>& by_name) {
  std::unordered_set<std::string_view> names;
  for (const auto& [key, attribute] : node.attributes)
    if (const GraphPointer* body = std::get_if<GraphPointer>(&attribute); body && *body) names_in(**body, names);
  std::vector<int> captured;
  for (std::string_view name : names)
    if (auto found = by_name.find(name); found != by_name.end() && !name.empty()) captured.push_back(found->second);
  std::sort(captured.begin(), captured.end());
  return captured;
}

void find_captured(const model::Graph& graph, Residency& residency) {
  residency.captured.resize(graph.nodes.size());
  std::unordered_map<std::string_view, int> by_name;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!has_body(graph.nodes[n])) continue;
    if (by_name.empty())
      for (size_t t = 0; t < graph.tensors.size(); ++t) by_name.emplace(graph.tensors[t].name, static_cast<int>(t));
    residency.captured[n] = captured_by(graph.nodes[n], by_name);
  }
}

std::optional<int64_t> values_in(const model::Graph& graph, size_t t) {
  return graph.tensors[t].shape ? element_count(*graph.tensors[t].shape) : std::nullopt;
}

void find_constants(const model::Graph& graph, Residency& residency) {
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    residency.constant[t] = graph.tensors[t].role == model::TensorRole::kWeight;
    residency.stored_type[t] = graph.tensors[t].type;
    residency.origin[t] = static_cast<int>(t);
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const model::Node& node = graph.nodes[n];
    const Operator& row = operator_of(node.domain, node.op);
    bool folded = !has_body(node) && !row.is(Trait::kRandom) && all_constant(node, residency.constant);
    residency.runs[n] = !folded;
    int source = node.inputs.empty() ? -1 : node.inputs[0];
    for (int index : node.outputs) {
      if (index < 0) continue;
      size_t t = static_cast<size_t>(index);
      if (folded) residency.constant[t] = true;
      if (row.is(Trait::kDequantises)) residency.dequantised[t] = true;
      if (source >= 0 && row.rearranges())
        residency.dequantised[t] = residency.dequantised[static_cast<size_t>(source)];
      if (folded && source >= 0 && row.is(Trait::kDequantises)) {
        residency.scales[t] = {node.inputs.begin() + 1, node.inputs.end()};
        std::erase(residency.scales[t], -1);
      }
      if (folded && source >= 0 && row.rearranges())
        residency.scales[t] = residency.scales[static_cast<size_t>(source)];
      if (folded && source >= 0 && (row.rearranges() || row.values == Values::kConverted)) {
        const size_t from = static_cast<size_t>(source);
        residency.stored_type[t] = residency.stored_type[from];
        if (values_in(graph, t) == values_in(graph, from)) residency.origin[t] = residency.origin[from];
      }
    }
  }
}

void drop_unused(const model::Graph& graph, Residency& residency) {
  std::vector<bool> used(graph.tensors.size());
  auto use = [&](const std::vector<int>& tensors) {
    for (int index : tensors)
      if (index >= 0) used[static_cast<size_t>(index)] = true;
  };
  use(graph.outputs);
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const model::Node& node = graph.nodes[n];
    bool wanted = std::any_of(node.outputs.begin(), node.outputs.end(),
                              [&](int index) { return index >= 0 && used[static_cast<size_t>(index)]; });
    residency.runs[n] = residency.runs[n] && wanted;
    if (!wanted) continue;
    use(node.inputs);
    use(residency.captured[n]);
  }
}

}  // namespace

Residency residency_of(const model::Graph& graph) {
  Residency residency;
  residency.constant.resize(graph.tensors.size());
  residency.dequantised.resize(graph.tensors.size());
  residency.stored_type.resize(graph.tensors.size());
  residency.origin.resize(graph.tensors.size());
  residency.scales.resize(graph.tensors.size());
  residency.runs.resize(graph.nodes.size());
  find_captured(graph, residency);
  find_constants(graph, residency);
  drop_unused(graph, residency);
  return residency;
}

}  // namespace ridge::cost
