// The buffers that ONNX Runtime plans for the results of a graph's nodes when it loads it. By sizes alone, nothing is computed.
#pragma once

#include "model/graph.h"

namespace ridge::cost {

// [bytes]
struct BufferPlan {
  double block = 0;    // one block with a slot for each buffer: allocated by every run but the first
  double outputs = 0;  // of the graph: never in the block
  double largest = 0;  // of all buffers
};

// A result uses the buffer of an input if the operator's row allows it (operators.h, Buffer), or its own, in the best-fitting
// gap of the block (onnxruntime/core/framework: allocation_planner.cc, FindReusableInput; mem_pattern_planner.h). With
// `takes_freed` it takes the buffer of a result of the same shape that no node reads any more, if there is one
// (FindReusableTensor): ONNX Runtime does so if it knows both shapes when it loads the model.
BufferPlan plan_buffers(const model::Graph& graph, bool takes_freed);

}  // namespace ridge::cost
