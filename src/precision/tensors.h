// Values of ONNX tensors: read from any storage location, and written as new initialisers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/reader.h"

namespace onnx {
class TensorProto;
}

namespace ridge::precision {

bool is_external(const onnx::TensorProto& tensor);
// [bytes] of its values, packed; 0 for strings.
int64_t stored_bytes(const onnx::TensorProto& tensor);

// The packed values of a tensor with external data. Error: `data` lacks them.
Result<std::string_view> external_values(const onnx::TensorProto& tensor, const model::ExternalData& data);

// Errors: not FP32, or external data that is missing.
Result<std::vector<float>> float_values(const onnx::TensorProto& tensor, const model::ExternalData& data);

// Replaces `tensor` by these values. `type`: a TensorProto.DataType; `bytes` are packed in its format.
void set_values(onnx::TensorProto& tensor, const std::string& name, int32_t type, const std::vector<int64_t>& shape,
                std::string bytes);

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace ridge::precision
