// ONNX's element types (TensorProto.DataType) in ridge's vocabulary.
#pragma once

#include <cstdint>
#include <optional>

#include "base/tensor.h"

namespace ridge::model {

// kInvalid for types that no engine's interface supports (complex, 8-bit and 4-bit floats, sub-byte integers) and for
// unknown numbers.
DataType from_onnx_type(int32_t onnx_type);
// 0 (UNDEFINED) for kInvalid.
int32_t to_onnx_type(DataType type);

// [bits] one element takes in storage; 0 for strings and unknown types.
int onnx_type_bits(int32_t onnx_type);
// True for types that hold weights: every floating-point type and the integers of at most 8 bits.
bool is_weight_type(int32_t onnx_type);
// [bytes] of `count` packed elements; nullopt for strings, unknown types, and where it does not fit.
std::optional<int64_t> onnx_byte_size(int32_t onnx_type, int64_t count);

}  // namespace ridge::model
