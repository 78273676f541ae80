// The types in which files store weights: numbers, and blocks of integers that share scales. Source: ggml (MIT),
// ggml-common.h and ggml-quants.c: numbers of types, layouts of blocks, what each integer stands for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/tensor.h"

namespace ridge::checkpoint {

struct StoredType {
  std::string_view name;
  uint32_t number;       // in GGUF
  int64_t block_values;  // a row is a whole number of blocks
  size_t block_bytes;
  void (*decode)(const std::byte* blocks, std::span<float> values) = nullptr;  // null: ridge knows its size only
  std::optional<DataType> plain = std::nullopt;                                // that each of its values has
  // For blocks of 32 signed integers and one scale, value = integer · scale: the integers' bits. Such a block is an
  // FP16 scale and the integers: INT8, or unsigned 4-bit ones that stand for themselves − 8, of which byte i holds
  // number i in its lower half and number 16 + i in its upper.
  int group_bits = 0;
};

// Null for an unknown type.
const StoredType* stored_type(uint32_t number);
const StoredType* stored_type(DataType type);
std::string decoded_types();  // "F32, F16, …", for messages

// [bytes] of values in rows of shape.back(). nullopt: a row does not fill its blocks, or more than 63 bits.
std::optional<size_t> stored_bytes(const StoredType& type, const Shape& shape);

// One of a model's weights as its file stores it. The data may begin at any address.
struct Weight {
  const StoredType* type = nullptr;
  Shape shape;  // [rows, columns] or [values]
  std::span<const std::byte> data;
  // Above 0: rows come in this many heads, and each head's two halves are stored in turns (row 0, row n/2, row 1, …),
  // as GGUF has those of rotary positions.
  int64_t interleaved_heads = 0;
};

using NamedWeights = std::map<std::string, Weight, std::less<>>;

// Where that row of a matrix lies.
const std::byte* stored_row(const Weight& matrix, int64_t row);
// The values of that row of a matrix, or of the whole vector (row 0). The type has `decode`.
void read_row(const Weight& weight, int64_t row, std::span<float> values);

}  // namespace ridge::checkpoint
