// Which activations share memory, and when each buffer begins and ends: ONNX Runtime's allocation plan, and the block that
// its memory pattern makes of it from the second run on.
//
// After onnxruntime/core/framework/allocation_planner.cc (outputs that overwrite inputs, views, dead buffers of the same
// shape used again) and mem_pattern_planner.h (best fit of traced allocations). Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "predict/engine_graph.h"

namespace ridge::predict {

struct ActivationBuffer {
  int64_t bytes = 0;
  size_t first = 0, last = 0;  // steps between which it is held
  bool output = false;         // of the model: held until the caller lets go, and never part of the pattern
};

struct BufferPlan {
  std::vector<ActivationBuffer> buffers;  // in the order in which they are allocated
  int64_t live_bytes = 0;                 // most held at one time, outputs included
};
BufferPlan plan_buffers(const EngineGraph& graph);

// Size of the one block that holds all buffers but outputs.
int64_t pattern_bytes(const BufferPlan& plan, size_t steps);

}  // namespace ridge::predict
