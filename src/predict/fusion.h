// The graph that ONNX Runtime's CPU provider will really run for a model: what is folded and left out, what melts together,
// which layout the channels get. Known without opening the engine; compared with what the engine writes by
// benchmarks/fusion and tests. Pure.
//
// It follows ONNX Runtime's order of transformations (optimizer/graph_transformer_utils.cc, levels 1 to 3) and each one's
// conditions as far as they decide what is executed; it is a forecast of kinds, shapes and counts, not of numbers, so
// weights have shapes only. Where the engine does something this file does not know, a node stays as it is in the model.
#pragma once

#include <vector>

#include "model/graph.h"
#include "plan/plan.h"

namespace ridge::predict {

struct EngineTraits {
  // Channels per block of the engine's own layout: 16 with AVX-512, 8 with AVX and AVX2; ≤ 1: it has none.
  int64_t block = 16;
  plan::GraphLevel level = plan::GraphLevel::kAll;
  // Time of a product of 8-bit integers over that of the same product in FP32 (kernel_steps.h).
  double integer_share = 0.35;
};

// A weight that the engine computes while it loads a model: by a node whose inputs are all constant, or from another weight.
struct DerivedWeight {
  enum class Form { kComputed, kScaled, kBlocked };
  int from = -1, to = -1;  // tensors; from −1: by a node
  Form form = Form::kScaled;
};

struct Execution {
  model::Graph graph;  // nodes in the order in which they run; the tensors of the file keep their numbers
  std::vector<DerivedWeight> derived;  // weights among its tensors that are computed while loading
};
// `graph`: as read, all shapes known.
Execution execution_of(const model::Graph& graph, const EngineTraits& traits);
// Its graph alone.
model::Graph executed_graph(const model::Graph& graph, const EngineTraits& traits);

}  // namespace ridge::predict
