// Buffers that ONNX Runtime plans for the results of a graph's nodes at the load. By sizes alone.
#pragma once

#include <string>
#include <unordered_set>

#include "model/graph.h"

namespace ridge::cost {

// [bytes]
struct BufferPlan {
  double block = 0;    // one block with a slot for each buffer: allocated by every run but the first
  double outputs = 0;  // of the graph: never in the block
  double largest = 0;  // of all buffers
};

// A result uses the buffer of an input if the operator's row allows it (operators.h, Buffer), or that of a result of
// the same shape that no node reads any more, or its own, in the best-fitting gap of the block
// (onnxruntime/core/framework: allocation_planner.cc, FindReusableInput and FindReusableTensor; mem_pattern_planner.h).
// `open`: names of the results whose shape ONNX Runtime does not know when it loads the model, so that none of them is
// the same as another's.
BufferPlan plan_buffers(const model::Graph& graph, const std::unordered_set<std::string>& open);

}  // namespace ridge::cost
