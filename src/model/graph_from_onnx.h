// From ONNX's structure to a Graph.
#pragma once

#include <map>
#include <string>

#include "model/graph.h"
#include "model/small_tensor.h"

namespace onnx {
class ModelProto;
}

namespace ridge::model {

// `values`: the small tensors whose values are known, by name.
Graph graph_from_onnx(const onnx::ModelProto& model, const std::map<std::string, SmallTensor>& values);

}  // namespace ridge::model
