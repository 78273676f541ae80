// The same sizing from an ONNX decoder with its cache as inputs (past_key_values.0.key …), as exporters write it.
#pragma once

#include "model/graph.h"
#include "sizing/llm.h"

namespace ridge::sizing {

struct LlmGraph {
  LlmModel model;
  WeightFormat stored;  // weights as stored in the file
  double kv_bits = 16;  // of the cache's inputs
};
// Weights are those of the graph; embedding and head are recognised by their sizes. Errors: no cache inputs, an open number of
// heads or head dimension, an encoder-decoder's cache.
Result<LlmGraph> llm_from_graph(const model::Graph& graph, const std::string& name);

}  // namespace ridge::sizing
