// Values of ONNX tensors: read from any storage location, and written as new initialisers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace onnx {
class TensorProto;
}

namespace ridge::precision {

bool is_external(const onnx::TensorProto& tensor);
// [bytes] of its values, packed; 0 for strings.
int64_t stored_bytes(const onnx::TensorProto& tensor);

// Passes the packed values of a tensor with external data to `take`, in pieces. `folder`: of the model. The tensor has been
// checked by model::read(). Errors: the file cannot be read, or `take`'s own.
Status read_external(const onnx::TensorProto& tensor, const std::string& folder,
                     const std::function<Status(std::string_view)>& take);
// The values move into the tensor.
Status embed(onnx::TensorProto& tensor, const std::string& folder);

// Errors: not FP32, or external data that cannot be read.
Result<std::vector<float>> float_values(const onnx::TensorProto& tensor, const std::string& folder);

// Replaces `tensor` by these values. `type`: a TensorProto.DataType; `bytes` are packed in its format.
void set_values(onnx::TensorProto& tensor, const std::string& name, int32_t type, const std::vector<int64_t>& shape,
                std::string bytes);

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace ridge::precision
