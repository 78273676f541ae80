// A language model from an ONNX decoder with its cache as inputs (past_key_values.0.key …), as exporters write it.
#pragma once

#include "llm/forecast.h"
#include "model/graph.h"

namespace ridge::llm {

struct GraphModel {
  Model model;  // one layer with the caches of all, to compute bytes and FLOPs of attention by
  Parameters parameters;
  Storage stored;       // weights as stored in the file
  double kv_bits = 16;  // of the cache's inputs
};
// Weights are those of the graph; embedding and head are recognised by their sizes. Errors: no cache inputs, an open
// number of heads or head dimension, an encoder-decoder's cache.
Result<GraphModel> model_of_graph(const model::Graph& graph, const std::string& name);

}  // namespace ridge::llm
