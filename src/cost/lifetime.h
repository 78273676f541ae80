// The memory that a graph's activations need at each node. Private to cost/.
#pragma once

#include <functional>
#include <vector>

#include "cost/count_node.h"
#include "cost/residency.h"

namespace ridge::cost {

// Bytes of live activations while each node runs, nodes in their order; 0 for a node that does not run. A tensor lives from the node
// that produces it (inputs of the model: from the start) to the last node that reads it or a view of it (outputs: to the end). Nothing is computed in
// place; the body of a loop or branch counts while its node runs.
std::vector<double> live_bytes(const model::Graph& graph, const Residency& residency,
                               const std::vector<NodeWork>& works, const std::function<double(int tensor)>& bytes);

// Their maximum, and no less than the inputs of the model.
double peak_activation_bytes(const model::Graph& graph, const Residency& residency, const std::vector<NodeWork>& works,
                             const std::function<double(int tensor)>& bytes);

}  // namespace ridge::cost
