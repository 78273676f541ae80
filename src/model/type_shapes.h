// Shapes of ONNX's types, and how inference merges two shapes of the same tensor. Private to model/.
#pragma once

#include <optional>
#include <vector>

#include "base/tensor.h"
#include "model/small_tensor.h"

namespace onnx {
class NodeProto;
class TensorShapeProto;
class TypeProto;
}  // namespace onnx

namespace ridge::model {

const onnx::TensorShapeProto* shape_of(const onnx::TypeProto& type);  // null: not a tensor, or of unknown rank
Shape to_shape(const onnx::TensorShapeProto& proto);                  // -1: unknown

// `inferred` wins over `known` (the file may be wrong); `known` fills the gaps.
void merge(const onnx::TypeProto& inferred, onnx::TypeProto& known);

// Dimensions of `type` that differ from `other` become unknown; with different ranks all do. True: none changed.
bool keep_common(const onnx::TypeProto& other, onnx::TypeProto& type);

// The type of one slice along the axis that a Scan cuts its input `index` along.
void take_slice(const onnx::NodeProto& scan, int index, onnx::TypeProto& type);

// The largest sizes that an operator can return along data-dependent dimensions; empty if unbounded. `limit`: the
// known value of input 2, or null.
Shape most_of(const onnx::NodeProto& node, const std::vector<std::optional<Shape>>& inputs, const SmallTensor* limit);

}  // namespace ridge::model
