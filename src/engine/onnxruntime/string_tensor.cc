#include "engine/onnxruntime/string_tensor.h"

#include <cstring>

namespace ridge::engine::onnxruntime {

Result<ValueHandle> string_tensor_from_wire(const Library& library, const TensorView& tensor) {
  const OrtApi& api = *library.api;
  std::optional<int64_t> count = element_count(tensor.shape);
  if (!count) return Error{Code::kInvalid, "shape " + shape_text(tensor.shape) + " is not complete"};
  RIDGE_TRY(check_bytes_block(tensor.data, *count));
  ValueHandle value(api);
  RIDGE_TRY(take(api, api.CreateTensorAsOrtValue(library.allocator, tensor.shape.data(), tensor.shape.size(),
                                                 ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, value.out())));
  const std::byte* at = tensor.data.data();
  for (size_t i = 0; i < static_cast<size_t>(*count); ++i) {
    uint32_t length = 0;
    std::memcpy(&length, at, sizeof length);
    at += sizeof length;
    char* memory = nullptr;
    RIDGE_TRY(take(api, api.GetResizedStringTensorElementBuffer(value.get(), i, length, &memory)));
    if (length > 0) std::memcpy(memory, at, length);
    at += length;
  }
  return value;
}

Result<Buffer> string_tensor_to_wire(const Library& library, const OrtValue* value, int64_t count) {
  const OrtApi& api = *library.api;
  size_t total = 0;
  RIDGE_TRY(take(api, api.GetStringTensorDataLength(value, &total)));
  auto elements = static_cast<size_t>(count);
  std::vector<char> content(total + 1);
  std::vector<size_t> begins(elements + 1, total);  // one past the last ends the last
  RIDGE_TRY(take(api, api.GetStringTensorContent(value, content.data(), total, begins.data(), elements)));
  Buffer wire(total + elements * sizeof(uint32_t));
  std::byte* at = wire.data();
  for (size_t i = 0; i < elements; ++i) {
    auto length = static_cast<uint32_t>(begins[i + 1] - begins[i]);
    std::memcpy(at, &length, sizeof length);
    at += sizeof length;
    if (length > 0) std::memcpy(at, content.data() + begins[i], length);
    at += length;
  }
  return wire;
}

}  // namespace ridge::engine::onnxruntime
