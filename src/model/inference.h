// Shapes and types of every tensor of a model, by ONNX's own inference per operator, with the values that shapes are
// computed from worked out on the way.
#pragma once

#include <map>
#include <string>

#include "model/small_tensor.h"

namespace onnx {
class ModelProto;
}

namespace ridge::model {

// Writes what it finds to the graph's value_info (and to that of subgraphs), and returns the small tensors whose values
// it knows. What cannot be inferred stays as the file has it, or unknown. The model is checked, ordered and bound.
std::map<std::string, SmallTensor> infer(onnx::ModelProto& model);

}  // namespace ridge::model
