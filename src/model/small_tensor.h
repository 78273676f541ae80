// The values of small tensors that are known before a model runs: the sizes and indices from which exporters compute
// shapes, and the few real numbers among them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/tensor.h"

namespace onnx {
class TensorProto;
}

namespace ridge::model {

// Holds every int64 and every double exactly (x87's 64-bit mantissa, or the 113 bits of aarch64's).
using Number = long double;
static_assert(std::numeric_limits<Number>::digits >= 64);

struct SmallTensor {
  int32_t onnx_type = 0;
  Shape shape;
  std::vector<std::optional<Number>> elements;  // row-major; nullopt = not known
  bool known() const;                           // every element is
};

inline constexpr int64_t kSmallTensorElements = 4096;

bool is_integer_type(int32_t onnx_type);  // bool included
bool is_real_type(int32_t onnx_type);     // FLOAT, DOUBLE, FLOAT16 is not among them

// nullopt for tensors that are too large, hold no values, or are of another type. Integers over 2^63 - 1 are not known.
std::optional<SmallTensor> small_tensor_from(const onnx::TensorProto& tensor);
// `tensor.known()`.
void to_onnx(const SmallTensor& tensor, onnx::TensorProto& proto);

}  // namespace ridge::model
