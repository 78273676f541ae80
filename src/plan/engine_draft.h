// A graph that can be rewritten, for engine_graph. Private to plan/.
#pragma once

#include <string>
#include <vector>

#include "cost/residency.h"
#include "model/graph.h"
#include "plan/engine_graph.h"

namespace ridge::plan {

struct DraftNode {
  std::string op;
  std::vector<int> inputs, outputs;  // of Draft::bytes; -1: left out
  const model::Node* source = nullptr;
  bool alive = true;
  bool activated = false;  // an activation has melted into it
  bool folded = false;     // its weights were rewritten
  bool blocked = false;    // runs on NCHWc
  int sum = -1;            // a convolution that adds this tensor, and writes into it
};

struct Draft {
  Draft(const model::Graph& graph, const cost::Residency& residency);

  bool constant(int tensor) const { return tensor >= 0 && weight[static_cast<size_t>(tensor)]; }
  const Shape* shape(int tensor) const;
  // The only node that reads `tensor`, -1 if there are none or several, or it is an output of the model.
  int only_reader(int tensor) const;
  // `node` writes what `last` wrote; all between are gone.
  void melt(int node, int last);
  // Readers of `from` read `to` instead.
  void redirect(int from, int to);
  // A new tensor of the shape of `like`.
  int add_tensor(int64_t tensor_bytes, int like);

  const model::Graph& graph;
  const cost::Residency& residency;
  std::vector<DraftNode> nodes;
  std::vector<int64_t> bytes;             // per tensor
  std::vector<int> like;                  // per tensor: one of Graph::tensors with its shape
  std::vector<bool> weight;               // per tensor: there before a run
  std::vector<int> producer;              // per tensor: node, or -1
  std::vector<std::vector<int>> readers;  // per tensor
  std::vector<bool> output;               // per tensor: of the model
};

// Melts nodes together as the optimiser does.
void fuse(Draft& draft);

}  // namespace ridge::plan
