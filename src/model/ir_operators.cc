#include "model/ir_operators.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <optional>

#include "model/ir_rows.h"

namespace ridge::model {

bool write_same(IrWriter& w, const char* op) {
  w.node(op, w.ins());
  return true;
}

bool write_first_only(IrWriter& w, const char* op) {
  w.node(op, w.ins(0, 1));
  return true;
}

std::string as_int64(IrWriter& w, size_t input) {
  const IrTensor* tensor = w.tensor(input);
  if (tensor == nullptr || tensor->onnx_type == onnx::TensorProto::INT64) return w.in(input);
  if (const std::optional<Sizes> values = w.values(input))
    return w.constant(*values, tensor->shape && tensor->shape->empty());
  onnx::NodeProto* cast = nullptr;
  const std::string result = w.step("Cast", {w.in(input)}, &cast);
  set(*cast, "to", int64_t{onnx::TensorProto::INT64});
  return result;
}

bool any_set(const Sizes& mask) {
  return std::any_of(mask.begin(), mask.end(), [](int64_t bit) { return bit != 0; });
}

bool write_layer(IrWriter& writer) {
  // ONNX's nodes need what all of these read; a layer with fewer ports is not what its type says.
  if (writer.layer().outputs.empty() || writer.in(0).empty()) return false;
  for (const std::span<const IrRow> rows :
       {pointwise_rows(), window_rows(), reduction_rows(), movement_rows(), other_rows()})
    for (const IrRow& row : rows)
      if (row.type == writer.layer().type) return row.write(writer, row.op);
  return false;
}

}  // namespace ridge::model
