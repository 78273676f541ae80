// Turns ONNX's structure into a Graph.
#pragma once

#include "model/graph.h"
#include "model/inference.h"

namespace onnx {
class ModelProto;
}

namespace ridge::model {

// `values`: of this very model and the graphs inside it.
Graph graph_from_onnx(const onnx::ModelProto& model, const GraphValues& values);

}  // namespace ridge::model
