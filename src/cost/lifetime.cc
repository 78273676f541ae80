#include "cost/lifetime.h"

#include <algorithm>

namespace ridge::cost {
namespace {

struct Lives {
  std::vector<int> root;    // per tensor: the tensor whose memory it shows
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

}  // namespace

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

double peak_activation_bytes(const model::Graph& graph, const Residency& residency, const std::vector<NodeWork>& works,
                             const std::function<double(int tensor)>& bytes) {
  double peak = 0;
  for (int index : graph.inputs)
    if (index >= 0 && !residency.constant[static_cast<size_t>(index)]) peak += bytes(index);
  for (double live : live_bytes(graph, residency, works, bytes)) peak = std::max(peak, live);
  return peak;
}

}  // namespace ridge::cost
