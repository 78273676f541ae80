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

// A list of values, flat or nested in any way, in row-major order. Exactly as many as `shape` says; each fits `type` without
// loss (integers are fine for floating point types). `json_size` [bytes] of the whole text bounds the allocation. The error
// does not name the tensor.
Result<PackedTensor> pack_values(const simdjson::dom::element& values, DataType type, const Shape& shape,
                                 size_t json_size);

// Appends "[v,v,…]", flat. Errors: FP16 and BF16, which JSON does not have; NaN and infinities; strings that are not
// UTF-8.
Status append_values(std::string& text, DataType type, std::span<const std::byte> data);

}  // namespace ridge::front::http
