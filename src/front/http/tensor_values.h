// The values of one tensor between JSON and packed memory (base/tensor.h). Pure functions.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "base/tensor.h"

namespace simdjson::dom {
class element;
}

namespace ridge::front::http {

// Packed memory and its owner.
struct PackedTensor {
  std::span<const std::byte> data;
  std::shared_ptr<const void> owner;
};

using Elements = std::span<const simdjson::dom::element>;

// A list of values, flat or nested in any way, in row-major order. Their number is that of `shape`; each fits `type`
// without loss (integers are fine for floating point types). `json_size` [bytes] of the whole text bounds the
// allocation. The error does not name the tensor.
Result<PackedTensor> pack_values(const simdjson::dom::element& values, DataType type, const Shape& shape,
                                 size_t json_size);

// The shape of each row: of lists in lists, or none for a value. Errors: irregular lists, rows that differ.
Result<Shape> common_shape(Elements rows);

// The values of all rows, one behind the other, each a value or nested lists. BYTES may also be {"b64": base64}, as
// TensorFlow Serving has them. Otherwise as pack_values().
Result<PackedTensor> pack_rows(Elements rows, DataType type, const Shape& shape, size_t json_size);

// True for {"b64": …}.
bool is_base64(const simdjson::dom::element& value);

// Appends "[v,v,…]", flat. Errors: FP16 and BF16, which JSON does not have; NaN and infinities; strings that are not
// UTF-8.
Status append_values(std::string& text, DataType type, std::span<const std::byte> data);
// The same as lists in lists, or as one value where `shape` is empty. `base64`: BYTES as {"b64": base64}.
Status append_nested(std::string& text, DataType type, std::span<const int64_t> shape, std::span<const std::byte> data,
                     bool base64);

}  // namespace ridge::front::http
