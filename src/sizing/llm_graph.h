// The same sizing from an ONNX decoder that takes its cache as inputs (past_key_values.0.key …), as exporters write it.
#pragma once

#include "model/graph.h"
#include "sizing/llm.h"

namespace ridge::sizing {

struct LlmGraph {
  LlmModel model;
  WeightFormat stored;  // weights as the file has them
  double kv_bits = 16;  // of the cache's inputs
};
// Weights are those of the graph; embedding and head are recognised by their sizes. Errors: no cache inputs, a number of
// heads or a head dimension that the file leaves open, an encoder-decoder's cache.
Result<LlmGraph> llm_from_graph(const model::Graph& graph, const std::string& name);

}  // namespace ridge::sizing
