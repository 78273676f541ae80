// The buffers that ONNX Runtime plans for the results of a graph's nodes when it loads it. By sizes alone, nothing is computed.
#pragma once

#include "model/graph.h"

namespace ridge::cost {

// [bytes]
struct BufferPlan {
  double block = 0;    // one block with a place for each buffer: what every run but the first allocates
  double outputs = 0;  // of the graph: never in the block
  double largest = 0;  // of all buffers
};

// A result lies in the buffer of an input where the operator's row allows it (operators.h, Buffer), or in one of its own, which takes the place in the
// block that fits best (onnxruntime/core/framework: allocation_planner.cc, FindReusableInput; mem_pattern_planner.h). With
// `takes_freed` it takes the buffer of a result of the same shape that no node reads any more, if there is one
// (FindReusableTensor): ONNX Runtime does so where it knows both shapes when it loads the model.
BufferPlan plan_buffers(const model::Graph& graph, bool takes_freed);

}  // namespace ridge::cost
