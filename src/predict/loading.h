// What loading a model does to the heap: the file is parsed, weights are copied, rewritten and packed, each time beside their
// former selves. Leaves the weights in the heap as the engine holds them.
//
// As traced in ONNX Runtime 1.31.1 (sizes and order of allocations of its CPU provider, glibc 2.36). Pure.
#pragma once

#include <cstdint>

#include "predict/engine_graph.h"
#include "predict/heap_model.h"

namespace ridge::predict {

// [bytes] of weights that the engine holds afterwards.
int64_t load_weights(const EngineWeights& weights, HeapModel& heap);

}  // namespace ridge::predict
