// How much memory the activations of a graph need at one time. Private to cost/.
#pragma once

#include <functional>
#include <vector>

#include "cost/count_node.h"
#include "cost/residency.h"

namespace ridge::cost {

// Most bytes of live activations while the nodes run in their order: a tensor lives from the node that makes it (inputs of
// the model: from the start) to the last node that reads it or a view of it (outputs: to the end). Nothing is computed in
// place; the inside of a loop or branch counts while that node runs.
double peak_activation_bytes(const model::Graph& graph, const Residency& residency, const std::vector<NodeWork>& works,
                             const std::function<double(int tensor)>& bytes);

}  // namespace ridge::cost
