// Which of the model's own nodes a layer of an engine's graph computes. Engines fuse nodes, drop some, and insert
// layers of their own that change a layout; people know the model's names. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "measure/measurement.h"
#include "model/graph.h"

namespace ridge::measure {

struct GraphNode {
  const model::Graph* graph = nullptr;
  const model::Node* node = nullptr;
};

struct OwnNodes {
  std::vector<GraphNode> nodes;     // that it computes, in the model's order; each belongs to one layer
  std::optional<GraphNode> serves;  // if it computes none: the node whose operands it brings into another layout
};

// `executed`: the node of each time in the engine's own graph; null: not found there. An engine's node computes the
// nodes of the model between its operands and its results, which share their names; where it renamed a result,
// NodeTime::sources says what begins there.
std::vector<OwnNodes> own_nodes(std::span<const engine::NodeTime> times, std::span<const GraphNode> executed,
                                const model::Graph& model);

// Names the layer after the node with the most arithmetic. Its operator is that node's too, except where it is one of
// many small ones (a normalisation in nine steps): then it stays the engine's.
void name_after(const OwnNodes& own, Layer& layer);

}  // namespace ridge::measure
