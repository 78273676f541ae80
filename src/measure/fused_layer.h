// The cost of a layer that computes several of the model's own nodes at once, as engines report their fused kernels.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "cost/costs.h"
#include "engine/engine.h"
#include "measure/own_nodes.h"
#include "model/graph.h"

namespace ridge::measure {

struct SourceLayer {
  OwnNodes own;
  cost::NodeCost cost;
};

// The nodes of a graph by their names and by the names of their outputs; engines use either.
class SourceNodes {
 public:
  explicit SourceNodes(const model::Graph& graph);

  // The nodes that `time` names as its sources; their arithmetic that `time` names as its sources, and the bytes that
  // cross the layer's boundary: inputs from outside and outputs that others need. The arithmetic has the type of the
  // layer's first input. Empty if it names no source, or only nodes that an earlier layer has claimed. A convolution or
  // matrix multiplication whose batch normalisation was folded into its weights has only the normalisation's name; then
  // its nodes include the operator normalised. Also empty if a layer that multiplies has no such node: half a cost
  // would be wrong.
  std::optional<SourceLayer> take(const engine::NodeTime& time);

 private:
  std::set<size_t> nodes_of(const engine::NodeTime& time);
  bool is_product(size_t node) const;
  void add_folded_product(std::set<size_t>& nodes);

  const model::Graph& graph_;
  std::map<std::string, size_t> by_name_;
  std::map<int, std::set<size_t>> readers_;  // of a tensor
  std::map<int, size_t> producers_;          // likewise
  std::set<int> given_;                      // tensors that the model gives
  std::set<size_t> taken_;
};

}  // namespace ridge::measure
