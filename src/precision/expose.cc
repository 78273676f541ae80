#include <onnx/onnx_pb.h>

#include <set>

#include "model/guarded.h"
#include "model/onnx_types.h"
#include "precision/pass_model.h"
#include "precision/quantise.h"

namespace ridge::precision {
namespace {

void add_output(PassModel& model, const std::string& tensor) {
  onnx::ValueInfoProto& output = *model.graph().add_output();
  output.set_name(tensor);
  auto& type = *output.mutable_type()->mutable_tensor_type();
  type.set_elem_type(model::to_onnx_type(model.type_of(tensor)));
  const std::optional<Shape> shape = model.shape_of(tensor);
  if (!shape) return;
  auto& dimensions = *type.mutable_shape();
  for (int64_t size : *shape) {
    auto& dimension = *dimensions.add_dim();
    if (size >= 0) dimension.set_dim_value(size);
  }
}

Status check_exists(const PassModel& model, const std::string& tensor) {
  if (!model.has(tensor)) return Error{Code::kNotFound, "the model has no tensor '" + tensor + "'"};
  if (model.type_of(tensor) == DataType::kInvalid)
    return Error{Code::kUnsupported, "the type of tensor '" + tensor + "' cannot be inferred"};
  return {};
}

Status exposed(const model::WholeModel& whole, const std::vector<std::string>& tensors, const std::string& out_file) {
  RIDGE_ASSIGN(PassModel model, PassModel::open(whole));
  std::set<std::string> outputs;
  for (const auto& output : model.graph().output()) outputs.insert(output.name());
  for (const std::string& tensor : tensors) {
    RIDGE_TRY(check_exists(model, tensor));
    if (outputs.insert(tensor).second) add_output(model, tensor);
  }
  RIDGE_ASSIGN([[maybe_unused]] const int64_t bytes, model.write_unchecked(out_file));
  return {};
}

}  // namespace

Status expose_tensors(const model::WholeModel& whole, const std::vector<std::string>& tensors,
                      const std::string& out_file) {
  return model::guarded("expose tensors of " + whole.path, [&] { return exposed(whole, tensors, out_file); });
}

}  // namespace ridge::precision
