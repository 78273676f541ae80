// Graphs that an engine wrote for its own use: fused, with vendors' operators, and without the shapes of what lies between nodes.
// The shapes come from two sides: from the graph that the engine started with, by the names of tensors, and from the engine
// itself, which is asked by a second file.
#pragma once

#include <string>

#include "base/result.h"
#include "model/graph.h"

namespace ridge::model {

// No checker, no inference; shapes only where the file has them.
Result<Graph> read_optimised(const std::string& path);

// Gives tensors of `graph` that lack them the type, shape and constant values of the tensor of that name in `from`; bodies of loops
// and branches likewise. A name that `from` has with several shapes says nothing.
void complete_shapes(Graph& graph, const Graph& from);

// Whether every result of a node, in bodies too, has all its sizes.
bool has_all_shapes(const Graph& graph);

// Writes the optimised model at `path` as one whose shapes an engine infers when it opens it without optimising: sizes of inputs, and of
// all tensors that it shares with `bound`, filled in; weights that lie in other files as inputs, since only their shapes matter; and
// every other tensor mentioned, so that the engine's own copy of the file mentions it with its shape.
Status write_shape_question(const std::string& path, const Graph& bound, const std::string& question);

}  // namespace ridge::model
