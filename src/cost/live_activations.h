// Memory over time: the live activations while each node runs.
#pragma once

#include <vector>

#include "base/units.h"
#include "model/graph.h"

namespace ridge::cost {

// [bytes] per node of the graph, in its order, each activation freed after its last use and nothing in place; 0 for
// nodes that do not run. Their maximum is Costs::peak_activation_bytes, unless the model's inputs alone are larger.
std::vector<double> live_activations(const model::Graph& graph, Precision precision);

}  // namespace ridge::cost
