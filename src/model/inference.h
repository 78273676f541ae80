// Shapes and types of every tensor of a model, those inside loops and branches too, by ONNX's own inference per operator, with
// the values that shapes are computed from worked out on the way.
#pragma once

#include <map>
#include <string>

#include "model/small_tensor.h"

namespace onnx {
class GraphProto;
class ModelProto;
}  // namespace onnx

namespace ridge::model {

// The small tensors whose values are known, per graph: the model's own and those inside nodes.
using GraphValues = std::map<const onnx::GraphProto*, std::map<std::string, SmallTensor>>;

// Sizes that only the data decide (how many boxes NonMaxSuppression keeps, how many elements are not zero): unknown, or as many
// as there can be.
enum class DataSizes { kUnknown, kAtMost };

// Writes what it finds to the graph's value_info (and to that of subgraphs), and returns the values that it knows. What cannot
// be inferred stays as the file has it, or unknown. The model is checked, ordered and bound.
GraphValues infer(onnx::ModelProto& model, DataSizes sizes = DataSizes::kUnknown);

}  // namespace ridge::model
