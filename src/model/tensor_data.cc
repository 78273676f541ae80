#include "model/tensor_data.h"

#include <onnx/onnx_pb.h>

#include <charconv>
#include <filesystem>
#include <optional>

#include "base/tensor.h"
#include "model/external_files.h"
#include "model/onnx_types.h"

namespace ridge::model {
namespace {

using Proto = onnx::TensorProto;

constexpr int64_t kKeptElements = 4096;  // shape arithmetic needs a few; a table of indices may have some thousand

Error invalid_tensor(const Proto& tensor, const std::string& message) {
  return {Code::kInvalid, "tensor '" + tensor.name() + "' " + message};
}

// ---------------------------------------------------------------------------------------------------- external data

std::optional<int64_t> number_from(const std::string& text) {
  int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

struct External {
  std::string location;
  int64_t offset = 0;
  std::optional<int64_t> length;
};

Result<External> external_of(const Proto& tensor) {
  External external;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") external.location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length") continue;
    std::optional<int64_t> number = number_from(entry.value());
    if (!number)
      return invalid_tensor(tensor, "has external data with " + entry.key() + " '" + entry.value() + "', not a number");
    if (entry.key() == "offset") external.offset = *number;
    if (entry.key() == "length") external.length = number;
  }
  if (external.location.empty()) return invalid_tensor(tensor, "has external data without a file name");
  return external;
}

Status check_external(const Proto& tensor, std::optional<int64_t> expected, const std::string& folder) {
  RIDGE_ASSIGN(const External external, external_of(tensor));
  if (escapes(external.location))
    return invalid_tensor(tensor, "has its data in '" + external.location +
                                      "', outside the model's folder; only files beside the model are read");
  const std::filesystem::path path = std::filesystem::path(folder) / external.location;
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure))
    return Error{Code::kNotFound, "tensor '" + tensor.name() + "' has its data in " + path.string() +
                                      ", which is missing; put that file beside the model"};
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path, failure));
  if (failure) return Error{Code::kFailed, "read " + path.string() + ": " + failure.message()};
  if (!expected) return invalid_tensor(tensor, "has external data of a type that cannot be stored so");
  if (external.length && *external.length != *expected)
    return invalid_tensor(tensor, "needs " + std::to_string(*expected) + " bytes, but its external data has " +
                                      std::to_string(*external.length));
  if (external.offset > size || *expected > size - external.offset)
    return invalid_tensor(tensor, "needs " + std::to_string(*expected) + " bytes at " +
                                      std::to_string(external.offset) + " in " + path.string() + ", which has only " +
                                      std::to_string(size) + "; it is cut off");
  return {};
}

// ---------------------------------------------------------------------------------------------------- embedded data

// Entries of the typed field (onnx.proto, TensorProto: which field holds which type).
int64_t typed_entries(const Proto& tensor) {
  switch (tensor.data_type()) {
    case Proto::FLOAT:
    case Proto::COMPLEX64: return tensor.float_data_size();
    case Proto::DOUBLE:
    case Proto::COMPLEX128: return tensor.double_data_size();
    case Proto::INT64: return tensor.int64_data_size();
    case Proto::UINT32:
    case Proto::UINT64: return tensor.uint64_data_size();
    case Proto::STRING: return tensor.string_data_size();
    default: return tensor.int32_data_size();
  }
}

int64_t expected_entries(const Proto& tensor, int64_t count) {
  if (tensor.data_type() == Proto::COMPLEX64 || tensor.data_type() == Proto::COMPLEX128) return 2 * count;
  const int bits = onnx_type_bits(tensor.data_type());
  const int64_t packed = bits > 0 && bits < 8 ? 8 / bits : 1;  // sub-byte types share an entry
  return count / packed + (count % packed != 0);
}

Status check_embedded(const Proto& tensor, int64_t count, std::optional<int64_t> expected) {
  if (tensor.has_raw_data() && !tensor.raw_data().empty()) {
    const auto found = static_cast<int64_t>(tensor.raw_data().size());
    if (!expected || found != *expected)
      return invalid_tensor(tensor, "has " + std::to_string(found) + " bytes of data; its shape and type need " +
                                        (expected ? std::to_string(*expected) : std::string("another form")));
    return {};
  }
  if (count > std::numeric_limits<int64_t>::max() / 2 || typed_entries(tensor) != expected_entries(tensor, count))
    return invalid_tensor(tensor, "has " + std::to_string(typed_entries(tensor)) + " values; its shape and type need " +
                                      std::to_string(count));
  return {};
}

bool is_external(const Proto& tensor) { return tensor.data_location() == Proto::EXTERNAL; }

Result<int64_t> check(const Proto& tensor, const std::string& folder) {
  const Shape shape(tensor.dims().begin(), tensor.dims().end());
  const std::optional<int64_t> count = element_count(shape);
  if (!count) return invalid_tensor(tensor, "has the impossible shape " + shape_text(shape));
  const std::optional<int64_t> expected = onnx_byte_size(tensor.data_type(), *count);
  RIDGE_TRY(is_external(tensor) ? check_external(tensor, expected, folder) : check_embedded(tensor, *count, expected));
  return *count;
}

// -------------------------------------------------------------------------------------------------- all of a model

class Visitor {
 public:
  Visitor(const std::string& folder, std::vector<DroppedTensor>& dropped) : folder_(folder), dropped_(dropped) {}

  Status visit(onnx::GraphProto& graph) {
    for (Proto& tensor : *graph.mutable_initializer()) RIDGE_TRY(visit(tensor));
    for (const onnx::SparseTensorProto& sparse : graph.sparse_initializer()) RIDGE_TRY(visit(sparse));
    for (onnx::NodeProto& node : *graph.mutable_node()) RIDGE_TRY(visit(node));
    return {};
  }

  Status visit(onnx::NodeProto& node) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) RIDGE_TRY(visit(attribute));
    return {};
  }

 private:
  Status visit(onnx::AttributeProto& attribute) {
    if (attribute.has_t()) RIDGE_TRY(visit(*attribute.mutable_t()));
    for (Proto& tensor : *attribute.mutable_tensors()) RIDGE_TRY(visit(tensor));
    if (attribute.has_sparse_tensor()) RIDGE_TRY(visit(attribute.sparse_tensor()));
    for (const onnx::SparseTensorProto& sparse : attribute.sparse_tensors()) RIDGE_TRY(visit(sparse));
    if (attribute.has_g()) RIDGE_TRY(visit(*attribute.mutable_g()));
    for (onnx::GraphProto& graph : *attribute.mutable_graphs()) RIDGE_TRY(visit(graph));
    return {};
  }

  Status visit(Proto& tensor) {
    RIDGE_ASSIGN(const int64_t count, check(tensor, folder_));
    if (count <= kKeptElements && !is_external(tensor)) return {};
    dropped_.push_back({&tensor, {tensor.dims().begin(), tensor.dims().end()}});
    Proto stub;
    stub.set_name(tensor.name());
    stub.set_data_type(tensor.data_type());
    stub.add_dims(0);
    tensor.Swap(&stub);
    return {};
  }

  Status visit(const onnx::SparseTensorProto& sparse) {
    for (const Proto* tensor : {&sparse.values(), &sparse.indices()}) {
      if (is_external(*tensor))
        return Error{Code::kUnsupported, "sparse tensor '" + tensor->name() + "' has external data"};
      if (tensor->has_data_type()) RIDGE_TRY(check(*tensor, folder_));
    }
    return {};
  }

  const std::string& folder_;
  std::vector<DroppedTensor>& dropped_;
};

}  // namespace

Result<std::vector<DroppedTensor>> check_and_drop_data(onnx::ModelProto& model, const std::string& folder) {
  std::vector<DroppedTensor> dropped;
  Visitor visitor(folder, dropped);
  RIDGE_TRY(visitor.visit(*model.mutable_graph()));
  for (onnx::FunctionProto& function : *model.mutable_functions())
    for (onnx::NodeProto& node : *function.mutable_node()) RIDGE_TRY(visitor.visit(node));
  return dropped;
}

void restore_shapes(const std::vector<DroppedTensor>& dropped) {
  for (const DroppedTensor& entry : dropped)
    entry.tensor->mutable_dims()->Assign(entry.shape.begin(), entry.shape.end());
}

}  // namespace ridge::model
