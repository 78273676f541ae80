// Infers shapes and types of every tensor of a model, including those in loops and branches, with ONNX's own inference
// per operator, and folds the values that shapes are computed from.
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

// Data-dependent sizes (boxes that NonMaxSuppression keeps, non-zero elements): unknown, or at their maximum.
enum class DataSizes { kUnknown, kAtMost };

// Writes what it finds to the graph's value_info (and to that of subgraphs), and returns the known values. What cannot
// be inferred stays as in the file, or unknown. The model is checked, ordered and bound.
GraphValues infer(onnx::ModelProto& model, DataSizes sizes = DataSizes::kUnknown);

}  // namespace ridge::model
