#include "cost/data_sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "cost/operators.h"

namespace ridge::cost {

DataSizes data_sizes_of(const model::Graph& graph, const Residency& residency) {
  DataSizes sizes{.tensors = std::vector<bool>(graph.tensors.size()),
                  .nodes = std::vector<bool>(graph.nodes.size()),
                  .sources = {}};
  std::map<std::string, int> times;
  auto decided = [&](int t) { return t >= 0 && sizes.tensors[static_cast<size_t>(t)]; };
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!residency.runs[n]) continue;
    const model::Node& node = graph.nodes[n];
    const bool inside = std::any_of(residency.captured[n].begin(), residency.captured[n].end(), decided);
    sizes.nodes[n] = inside || std::any_of(node.inputs.begin(), node.inputs.end(), decided);
    const Operator& row = operator_of(node.domain, node.op);
    if (row.is(Trait::kDataSized)) ++times[node.op];
    const bool passes_on =
        row.is(Trait::kKeepsFirstSize) ? !node.inputs.empty() && decided(node.inputs[0]) : sizes.nodes[n];
    if (!passes_on && !row.is(Trait::kDataSized)) continue;
    for (int t : node.outputs)
      if (t >= 0) sizes.tensors[static_cast<size_t>(t)] = true;
  }
  for (const auto& [op, count] : times) sizes.sources.push_back(op + " × " + std::to_string(count));
  return sizes;
}

std::string note_on_data_sizes(const model::Graph& graph) {
  const DataSizes sizes = data_sizes_of(graph, residency_of(graph));
  const auto nodes = std::count(sizes.nodes.begin(), sizes.nodes.end(), true);
  if (nodes == 0) return "";
  return fmt::format(
      "the size that {} return depends on the data; the {} nodes that use it are counted at their maximum where "
      "it is known, and left out of the bound",
      fmt::join(sizes.sources, ", "), nodes);
}

}  // namespace ridge::cost
