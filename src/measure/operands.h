// The operands of a node as the engine ran it: its graph's entries with the types and shapes that a profile saw.
#pragma once

#include <utility>
#include <vector>

#include "cost/count_node.h"
#include "model/graph.h"

namespace ridge::measure {

// `tensors` are a node's inputs or outputs, `seen` the profile's list of them. The profile leaves out weights that the
// engine packed, so its list is shorter than the node's; weights are taken from the graph, all else from the profile.
std::vector<cost::Operand> operands(const model::Graph& graph, const std::vector<int>& tensors,
                                    const std::vector<std::pair<DataType, Shape>>& seen);

}  // namespace ridge::measure
