// The inputs of a graph.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "base/tensor.h"
#include "model/graph.h"

namespace ridge::model {

// ok if every dimension of the inputs of the model at `path` has a size; else the error names the missing ones.
Status check_open_dimensions(const std::string& path, const Graph& graph);

// `shape` with likely sizes for open dimensions: of a picture, or of a sequence.
Shape example_of(Shape shape);

// Name → shape of the graph's inputs.
std::map<std::string, Shape> input_shapes(const Graph& graph);

// True if the file leaves the first dimension of the first input open.
bool has_open_batch(const Graph& graph);
// The first dimension of the first input; 1 where there is none, and where its size is fixed and an output does not
// have it (the channels of a picture, the elements of a vector).
int64_t rows_of(const Graph& graph);
// The same of a run whose first input has this shape: another batch than the one that the graph is bound to.
int64_t rows_of(const Graph& graph, const Shape& first_input);

}  // namespace ridge::model
