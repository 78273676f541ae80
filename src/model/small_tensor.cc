#include "model/small_tensor.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>

namespace ridge::model {
namespace {

using Proto = onnx::TensorProto;

template <typename Element>
void append_raw(const std::string& raw, SmallTensor& tensor) {
  for (size_t at = 0; at + sizeof(Element) <= raw.size(); at += sizeof(Element)) {
    Element element;
    std::memcpy(&element, raw.data() + at, sizeof element);
    tensor.elements.emplace_back(static_cast<Number>(element));
  }
}

template <typename Field>
void append_field(const Field& field, SmallTensor& tensor) {
  for (auto element : field) tensor.elements.emplace_back(static_cast<Number>(element));
}

void append_values(const Proto& proto, SmallTensor& tensor) {
  const std::string& raw = proto.raw_data();
  const bool has_raw = !raw.empty();
  switch (proto.data_type()) {
    case Proto::INT64: return has_raw ? append_raw<int64_t>(raw, tensor) : append_field(proto.int64_data(), tensor);
    case Proto::UINT64: return has_raw ? append_raw<uint64_t>(raw, tensor) : append_field(proto.uint64_data(), tensor);
    case Proto::INT32: return has_raw ? append_raw<int32_t>(raw, tensor) : append_field(proto.int32_data(), tensor);
    case Proto::UINT32: return has_raw ? append_raw<uint32_t>(raw, tensor) : append_field(proto.uint64_data(), tensor);
    case Proto::INT16: return has_raw ? append_raw<int16_t>(raw, tensor) : append_field(proto.int32_data(), tensor);
    case Proto::UINT16: return has_raw ? append_raw<uint16_t>(raw, tensor) : append_field(proto.int32_data(), tensor);
    case Proto::INT8: return has_raw ? append_raw<int8_t>(raw, tensor) : append_field(proto.int32_data(), tensor);
    case Proto::UINT8:
    case Proto::BOOL: return has_raw ? append_raw<uint8_t>(raw, tensor) : append_field(proto.int32_data(), tensor);
    case Proto::FLOAT: return has_raw ? append_raw<float>(raw, tensor) : append_field(proto.float_data(), tensor);
    case Proto::DOUBLE: return has_raw ? append_raw<double>(raw, tensor) : append_field(proto.double_data(), tensor);
    default: return;
  }
}

}  // namespace

bool SmallTensor::known() const {
  return std::all_of(elements.begin(), elements.end(), [](const auto& element) { return element.has_value(); });
}

bool is_integer_type(int32_t onnx_type) {
  switch (onnx_type) {
    case Proto::BOOL:
    case Proto::INT8:
    case Proto::UINT8:
    case Proto::INT16:
    case Proto::UINT16:
    case Proto::INT32:
    case Proto::UINT32:
    case Proto::INT64:
    case Proto::UINT64: return true;
    default: return false;
  }
}

bool is_real_type(int32_t onnx_type) { return onnx_type == Proto::FLOAT || onnx_type == Proto::DOUBLE; }

std::optional<SmallTensor> small_tensor_from(const Proto& proto) {
  SmallTensor tensor{proto.data_type(), {proto.dims().begin(), proto.dims().end()}, {}};
  const std::optional<int64_t> count = element_count(tensor.shape);
  if (!count || *count > kSmallTensorElements || proto.data_location() == Proto::EXTERNAL) return std::nullopt;
  append_values(proto, tensor);
  if (static_cast<int64_t>(tensor.elements.size()) != *count) return std::nullopt;
  constexpr auto kMost = static_cast<Number>(std::numeric_limits<int64_t>::max());
  for (auto& element : tensor.elements)
    if (is_integer_type(tensor.onnx_type) && *element > kMost) element.reset();  // of UINT64; no size is that large
  return tensor;
}

void to_onnx(const SmallTensor& tensor, Proto& proto) {
  proto.set_data_type(tensor.onnx_type);
  for (int64_t size : tensor.shape) proto.add_dims(size);
  for (const auto& element : tensor.elements) {
    switch (tensor.onnx_type) {
      case Proto::INT64: proto.add_int64_data(static_cast<int64_t>(*element)); break;
      case Proto::UINT32:
      case Proto::UINT64: proto.add_uint64_data(static_cast<uint64_t>(*element)); break;
      case Proto::FLOAT: proto.add_float_data(static_cast<float>(*element)); break;
      case Proto::DOUBLE: proto.add_double_data(static_cast<double>(*element)); break;
      default: proto.add_int32_data(static_cast<int32_t>(*element)); break;
    }
  }
}

}  // namespace ridge::model
