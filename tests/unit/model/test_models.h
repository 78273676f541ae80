// Models for this folder's tests, written in ONNX's text form.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/reader.h"

namespace ridge::model {

// The file that `text` describes. Asserts that the text is well formed.
std::string model_bytes(const std::string& text);
// `body` as the graph "g" of an opset 17 model: "(float[N,3] x) => (float[N,3] y) { y = Relu (x) }".
std::string graph_bytes(const std::string& body, int opset = 17);
Result<Graph> read_graph(const std::string& body, const Binding& binding = {}, int opset = 17);
inline const char* const kRelu = "(float[batch, 3] x) => (float[batch, 3] y) { y = Relu (x) }";

inline Binding at_batch(int64_t batch) {
  Binding binding;
  binding.batch = batch;
  return binding;
}
inline std::string error_of(const Result<Graph>& graph) { return graph.ok() ? "no error" : graph.error().message; }
// The tensor of that name; fails the test if there is none.
const TensorInfo& tensor_named(const Graph& graph, const std::string& name);

}  // namespace ridge::model
