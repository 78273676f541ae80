#include "precision/tensors.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/tensor.h"
#include "model/onnx_types.h"

namespace ridge::precision {
namespace {

struct ExternalRange {
  std::string path;
  int64_t offset = 0;
};

ExternalRange place_of(const onnx::TensorProto& tensor, const std::string& folder) {
  ExternalRange place;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") place.path = (std::filesystem::path(folder) / entry.value()).string();
    if (entry.key() == "offset") place.offset = std::strtoll(entry.value().c_str(), nullptr, 10);
  }
  return place;
}

}  // namespace

bool is_external(const onnx::TensorProto& tensor) { return tensor.data_location() == onnx::TensorProto::EXTERNAL; }

int64_t stored_bytes(const onnx::TensorProto& tensor) {
  const std::vector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  const std::optional<int64_t> count = element_count(shape);
  return count ? model::onnx_byte_size(tensor.data_type(), *count).value_or(0) : 0;
}

Status read_external(const onnx::TensorProto& tensor, const std::string& folder,
                     const std::function<Status(std::string_view)>& take) {
  constexpr int64_t kPiece = 4 << 20;
  const ExternalRange place = place_of(tensor, folder);
  std::ifstream file(place.path, std::ios::binary);
  file.seekg(place.offset);
  std::string piece;
  for (int64_t left = stored_bytes(tensor); left > 0; left -= static_cast<int64_t>(piece.size())) {
    piece.resize(static_cast<size_t>(std::min(left, kPiece)));
    if (!file.read(piece.data(), static_cast<std::streamsize>(piece.size())))
      return Error{Code::kFailed, "read the values of '" + tensor.name() + "' from " + place.path +
                                      ": it ends too early or cannot be read"};
    RIDGE_TRY(take(piece));
  }
  return {};
}

Status embed(onnx::TensorProto& tensor, const std::string& folder) {
  std::string bytes;
  bytes.reserve(static_cast<size_t>(stored_bytes(tensor)));
  RIDGE_TRY(read_external(tensor, folder, [&](std::string_view piece) {
    bytes += piece;
    return ok_status();
  }));
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(std::move(bytes));
  return {};
}

Result<std::vector<float>> float_values(const onnx::TensorProto& tensor, const std::string& folder) {
  if (tensor.data_type() != onnx::TensorProto::FLOAT)
    return Error{Code::kUnsupported, "tensor '" + tensor.name() + "' is not FP32"};
  if (is_external(tensor)) {
    std::vector<float> values(static_cast<size_t>(stored_bytes(tensor)) / sizeof(float));
    size_t at = 0;
    RIDGE_TRY(read_external(tensor, folder, [&](std::string_view piece) {
      std::memcpy(reinterpret_cast<char*>(values.data()) + at, piece.data(), piece.size());
      at += piece.size();
      return ok_status();
    }));
    return values;
  }
  if (tensor.raw_data().empty()) return std::vector<float>(tensor.float_data().begin(), tensor.float_data().end());
  std::vector<float> values(tensor.raw_data().size() / sizeof(float));
  std::memcpy(values.data(), tensor.raw_data().data(), values.size() * sizeof(float));
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
