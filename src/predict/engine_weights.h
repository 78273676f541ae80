// What loading does to a model's weights, for engine_graph.h. Private to plan/.
#pragma once

#include <cstdint>

#include "model/graph.h"
#include "predict/engine_graph.h"

namespace ridge::predict {

// [bytes] of a tensor, 0 where its size is not known.
int64_t stored_bytes(const model::TensorInfo& info);

// `graph`: as read; `execution`: what the engine makes of it.
EngineWeights engine_weights(const model::Graph& graph, const Execution& execution);

}  // namespace ridge::predict
