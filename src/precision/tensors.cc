#include "precision/tensors.h"

#include <onnx/onnx_pb.h>

#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/tensor.h"
#include "model/onnx_types.h"

namespace ridge::precision {

bool is_external(const onnx::TensorProto& tensor) { return tensor.data_location() == onnx::TensorProto::EXTERNAL; }

int64_t stored_bytes(const onnx::TensorProto& tensor) {
  const std::vector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  const std::optional<int64_t> count = element_count(shape);
  return count ? model::onnx_byte_size(tensor.data_type(), *count).value_or(0) : 0;
}

Result<std::string_view> external_values(const onnx::TensorProto& tensor, const model::ExternalData& data) {
  std::string location;
  int64_t offset = 0;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = std::strtoll(entry.value().c_str(), nullptr, 10);
  }
  const auto file = data.find(location);
  const auto bytes = static_cast<size_t>(stored_bytes(tensor)), first = static_cast<size_t>(offset);
  if (file == data.end() || first > file->second.size() || bytes > file->second.size() - first)
    return Error{Code::kFailed, "the values of '" + tensor.name() + "' are not in " + location + ", or it is cut off"};
  return std::string_view(file->second).substr(first, bytes);
}

Result<std::vector<float>> float_values(const onnx::TensorProto& tensor, const model::ExternalData& data) {
  if (tensor.data_type() != onnx::TensorProto::FLOAT)
    return Error{Code::kUnsupported, "tensor '" + tensor.name() + "' is not FP32"};
  std::string_view packed = tensor.raw_data();
  if (is_external(tensor)) {
    RIDGE_ASSIGN(packed, external_values(tensor, data));
  } else if (packed.empty()) {
    return std::vector<float>(tensor.float_data().begin(), tensor.float_data().end());
  }
  std::vector<float> values(packed.size() / sizeof(float));
  std::memcpy(values.data(), packed.data(), values.size() * sizeof(float));
  return values;
}

void set_values(onnx::TensorProto& tensor, const std::string& name, int32_t type, const std::vector<int64_t>& shape,
                std::string bytes) {
  tensor.Clear();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (int64_t size : shape) tensor.add_dims(size);
  tensor.set_raw_data(std::move(bytes));
}

}  // namespace ridge::precision
