// The cost of a layer that computes several of the model's own nodes at once, as engines report their fused kernels.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "cost/costs.h"
#include "engine/engine.h"
#include "model/graph.h"

namespace ridge::measure {

// The nodes of a graph by their names and by the names of what they give; engines use either.
class SourceNodes {
 public:
  explicit SourceNodes(const model::Graph& graph);

  // Arithmetic of all nodes that `time` names as its sources, and the bytes that cross the layer's border: what they read and
  // did not make themselves, what they give and others need. Arithmetic is of the type that the layer's first input has.
  // Nothing if it names none, or only nodes that an earlier layer took. A convolution or product whose batch normalisation was
  // folded into its weights bears only the normalisation's name: then the product that this normalises is among its nodes.
  // Nothing, too, if no product is found for a layer that is one: half a cost would be a wrong one.
  std::optional<cost::NodeCost> take(const engine::NodeTime& time);

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
