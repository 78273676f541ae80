#include "model/type_shapes.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

namespace ridge::model {
namespace {

int64_t scan_axis(const onnx::NodeProto& node, const char* name, int index, int rank) {
  int64_t axis = 0;
  for (const onnx::AttributeProto& attribute : node.attribute())
    if (attribute.name() == name && index < attribute.ints_size()) axis = attribute.ints(index);
  return axis < 0 ? axis + rank : axis;
}

}  // namespace

const onnx::TensorShapeProto* shape_of(const onnx::TypeProto& type) {
  return type.has_tensor_type() && type.tensor_type().has_shape() ? &type.tensor_type().shape() : nullptr;
}

Shape to_shape(const onnx::TensorShapeProto& proto) {
  Shape shape;
  for (const auto& dim : proto.dim())
    shape.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : -1);
  return shape;
}

void merge(const onnx::TypeProto& inferred, onnx::TypeProto& known) {
  const onnx::TensorShapeProto* from_file = shape_of(known);
  const onnx::TensorShapeProto* found = shape_of(inferred);
  onnx::TypeProto merged = inferred.value_case() == onnx::TypeProto::VALUE_NOT_SET ? known : inferred;
  if (merged.has_tensor_type() && known.has_tensor_type()) {
    auto& tensor = *merged.mutable_tensor_type();
    if (tensor.elem_type() == 0) tensor.set_elem_type(known.tensor_type().elem_type());
    if (found == nullptr && from_file != nullptr) *tensor.mutable_shape() = *from_file;
    if (found != nullptr && from_file != nullptr && found->dim_size() == from_file->dim_size())
      for (int i = 0; i < found->dim_size(); ++i)
        if (!found->dim(i).has_dim_value()) *tensor.mutable_shape()->mutable_dim(i) = from_file->dim(i);
  }
  known.Swap(&merged);
}

bool keep_common(const onnx::TypeProto& other, onnx::TypeProto& type) {
  const onnx::TensorShapeProto *a = shape_of(type), *b = shape_of(other);
  if (a == nullptr) return true;
  if (b == nullptr || a->dim_size() != b->dim_size()) {
    type.mutable_tensor_type()->clear_shape();
    return false;
  }
  bool same = true;
  for (int i = 0; i < a->dim_size(); ++i) {
    if (!a->dim(i).has_dim_value() || (b->dim(i).has_dim_value() && a->dim(i).dim_value() == b->dim(i).dim_value()))
      continue;
    type.mutable_tensor_type()->mutable_shape()->mutable_dim(i)->Clear();
    same = false;
  }
  return same;
}

void take_slice(const onnx::NodeProto& node, int index, onnx::TypeProto& type) {
  auto& dims = *type.mutable_tensor_type()->mutable_shape()->mutable_dim();
  const int64_t axis = scan_axis(node, "scan_input_axes", index, dims.size());
  if (axis >= 0 && axis < dims.size())
    dims.DeleteSubrange(static_cast<int>(axis), 1);
  else
    type.mutable_tensor_type()->clear_shape();
}

Shape most_of(const onnx::NodeProto& node, const std::vector<std::optional<Shape>>& inputs, const SmallTensor* limit) {
  auto volume = [&](size_t i) -> int64_t {
    return i < inputs.size() && inputs[i] ? element_count(*inputs[i]).value_or(-1) : -1;
  };
  if (node.op_type() == "NonZero" && volume(0) >= 0)
    return {static_cast<int64_t>(std::max<size_t>(1, inputs[0]->size())), volume(0)};
  if (node.op_type() == "NonMaxSuppression" && volume(1) >= 0 && inputs[1]->size() == 3) {
    int64_t kept = (*inputs[1])[2];
    if (limit != nullptr && limit->elements.size() == 1 && limit->elements[0] && *limit->elements[0] < kept)
      kept = std::max<int64_t>(0, static_cast<int64_t>(*limit->elements[0]));
    return {(*inputs[1])[0] * (*inputs[1])[1] * kept, 3};
  }
  const bool flat = node.attribute_size() == 0;  // Compress and Unique without an axis
  if ((node.op_type() == "Compress" || node.op_type() == "Unique") && flat && volume(0) >= 0) return {volume(0)};
  return {};
}

}  // namespace ridge::model
