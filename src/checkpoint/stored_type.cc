#include "checkpoint/stored_type.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/half.h"

namespace ridge::checkpoint {
namespace {

template <typename Stored>
Stored stored_at(const std::byte* from) {
  Stored stored;
  std::memcpy(&stored, from, sizeof stored);
  return stored;
}
float half_at(const std::byte* from) { return from_fp16(stored_at<uint16_t>(from)); }
int byte_at(const std::byte* from, size_t i) { return std::to_integer<int>(from[i]); }

template <typename Stored, float (*kConvert)(Stored)>
void decode_plain(const std::byte* from, std::span<float> values) {
  for (size_t i = 0; i < values.size(); ++i) values[i] = kConvert(stored_at<Stored>(from + i * sizeof(Stored)));
}
constexpr float itself(float value) { return value; }

template <size_t kValues, size_t kBytes, void (*kBlock)(const std::byte*, float*)>
void decode_blocks(const std::byte* from, std::span<float> values) {
  for (size_t i = 0; i * kValues < values.size(); ++i) kBlock(from + i * kBytes, values.data() + i * kValues);
}

void q8_0(const std::byte* from, float* values) {
  const float scale = half_at(from);
  for (size_t i = 0; i < 32; ++i) values[i] = scale * static_cast<float>(stored_at<int8_t>(from + 2 + i));
}

void q4_0(const std::byte* from, float* values) {
  const float scale = half_at(from);
  for (size_t i = 0; i < 16; ++i) {
    values[i] = scale * static_cast<float>((byte_at(from, 2 + i) & 15) - 8);
    values[16 + i] = scale * static_cast<float>((byte_at(from, 2 + i) >> 4) - 8);
  }
}

// FP16 scale of scales, FP16 scale of minima, eight pairs of both in 6 bits each (12 bytes), of Q5_K the fifth bits (32
// bytes: one of each group), eight groups of 32 integers of 4 bits: two groups to 32 bytes.
template <bool kFiveBits>
void q4_or_5_k(const std::byte* from, float* values) {
  const float scale = half_at(from), minimum = half_at(from + 2);
  const std::byte *pairs = from + 4, *fifth = from + 16, *integers = fifth + (kFiveBits ? 32 : 0);
  for (size_t group = 0; group < 8; ++group) {
    int s = byte_at(pairs, group) & 63, m = byte_at(pairs, (group + 4) % 12) & 63;
    if (group >= 4) {
      const int low = byte_at(pairs, group + 4);
      s = (low & 15) | byte_at(pairs, group - 4) >> 6 << 4;
      m = low >> 4 | byte_at(pairs, group) >> 6 << 4;
    }
    const float step = scale * static_cast<float>(s), base = minimum * static_cast<float>(m);
    for (size_t i = 0; i < 32; ++i) {
      const int both = byte_at(integers, group / 2 * 32 + i);
      int integer = group % 2 == 0 ? both & 15 : both >> 4;
      if (kFiveBits) integer |= (byte_at(fifth, i) >> group & 1) << 4;
      values[group * 32 + i] = step * static_cast<float>(integer) - base;
    }
  }
}

// Lower 4 bits (128 bytes), upper 2 bits (64), sixteen INT8 scales, FP16 scale of scales; per half four groups.
void q6_k(const std::byte* from, float* values) {
  const float scale = half_at(from + 208);
  for (size_t i = 0; i < 256; ++i) {
    const size_t half = i / 128, group = i % 128 / 32, at = i % 32;
    const int low = byte_at(from, half * 64 + group % 2 * 32 + at) >> (group / 2 * 4) & 15;
    const int high = byte_at(from, 128 + half * 32 + at) >> (group * 2) & 3;
    const auto step = static_cast<float>(stored_at<int8_t>(from + 192 + i / 16));
    values[i] = scale * step * static_cast<float>((low | high << 4) - 32);
  }
}

constexpr auto kStoredTypes = std::to_array<StoredType>({
    {.name = "F32",
     .number = 0,
     .block_values = 1,
     .block_bytes = 4,
     .decode = decode_plain<float, itself>,
     .plain = DataType::kFp32},
    {.name = "F16",
     .number = 1,
     .block_values = 1,
     .block_bytes = 2,
     .decode = decode_plain<uint16_t, from_fp16>,
     .plain = DataType::kFp16},
    {.name = "BF16",
     .number = 30,
     .block_values = 1,
     .block_bytes = 2,
     .decode = decode_plain<uint16_t, from_bf16>,
     .plain = DataType::kBf16},
    {.name = "Q8_0",
     .number = 8,
     .block_values = 32,
     .block_bytes = 34,
     .decode = decode_blocks<32, 34, q8_0>,
     .group_bits = 8},
    {.name = "Q4_0",
     .number = 2,
     .block_values = 32,
     .block_bytes = 18,
     .decode = decode_blocks<32, 18, q4_0>,
     .group_bits = 4},
    {.name = "Q4_K",
     .number = 12,
     .block_values = 256,
     .block_bytes = 144,
     .decode = decode_blocks<256, 144, q4_or_5_k<false>>},
    {.name = "Q5_K",
     .number = 13,
     .block_values = 256,
     .block_bytes = 176,
     .decode = decode_blocks<256, 176, q4_or_5_k<true>>},
    {.name = "Q6_K", .number = 14, .block_values = 256, .block_bytes = 210, .decode = decode_blocks<256, 210, q6_k>},
    {.name = "Q4_1", .number = 3, .block_values = 32, .block_bytes = 20},
    {.name = "Q5_0", .number = 6, .block_values = 32, .block_bytes = 22},
    {.name = "Q5_1", .number = 7, .block_values = 32, .block_bytes = 24},
    {.name = "Q2_K", .number = 10, .block_values = 256, .block_bytes = 84},
    {.name = "Q3_K", .number = 11, .block_values = 256, .block_bytes = 110},
    {.name = "IQ2_XXS", .number = 16, .block_values = 256, .block_bytes = 66},
    {.name = "IQ2_XS", .number = 17, .block_values = 256, .block_bytes = 74},
    {.name = "IQ3_XXS", .number = 18, .block_values = 256, .block_bytes = 98},
    {.name = "IQ1_S", .number = 19, .block_values = 256, .block_bytes = 50},
    {.name = "IQ4_NL", .number = 20, .block_values = 32, .block_bytes = 18},
    {.name = "IQ3_S", .number = 21, .block_values = 256, .block_bytes = 110},
    {.name = "IQ2_S", .number = 22, .block_values = 256, .block_bytes = 82},
    {.name = "IQ4_XS", .number = 23, .block_values = 256, .block_bytes = 136},
    {.name = "IQ1_M", .number = 29, .block_values = 256, .block_bytes = 56},
    {.name = "TQ1_0", .number = 34, .block_values = 256, .block_bytes = 54},
    {.name = "TQ2_0", .number = 35, .block_values = 256, .block_bytes = 66},
    {.name = "MXFP4", .number = 39, .block_values = 32, .block_bytes = 17},
});

template <typename Column, typename Value>
const StoredType* row_with(Column column, const Value& value) {
  const auto* found = std::ranges::find(kStoredTypes, value, column);
  return found == kStoredTypes.end() ? nullptr : found;
}

}  // namespace

const StoredType* stored_type(uint32_t number) { return row_with(&StoredType::number, number); }
const StoredType* stored_type(DataType type) { return row_with(&StoredType::plain, std::optional(type)); }

std::string decoded_types() {
  std::string names;
  for (const StoredType& type : kStoredTypes)
    if (type.decode != nullptr) names += (names.empty() ? "" : ", ") + std::string(type.name);
  return names;
}

std::optional<size_t> stored_bytes(const StoredType& type, const Shape& shape) {
  const std::optional<int64_t> values = element_count(shape);
  if (!values || (shape.empty() ? 1 : shape.back()) % type.block_values != 0) return std::nullopt;
  const auto blocks = static_cast<uint64_t>(*values / type.block_values);
  if (blocks > static_cast<uint64_t>(INT64_MAX) / type.block_bytes) return std::nullopt;
  return blocks * type.block_bytes;
}

const std::byte* stored_row(const Weight& matrix, int64_t row) {
  const int64_t rows = matrix.shape.front();
  if (matrix.interleaved_heads > 0) {
    const int64_t head = rows / matrix.interleaved_heads, half = head / 2, within = row % head;
    row += within % half * 2 + within / half - within;
  }
  return matrix.data.data() + static_cast<size_t>(row) * (matrix.data.size() / static_cast<size_t>(rows));
}

void read_row(const Weight& weight, int64_t row, std::span<float> values) {
  if (weight.shape.size() == 2) return weight.type->decode(stored_row(weight, row), values);
  if (weight.interleaved_heads == 0) return weight.type->decode(weight.data.data(), values);
  for (size_t i = 0; i < values.size(); ++i)
    weight.type->decode(stored_row(weight, static_cast<int64_t>(i)), values.subspan(i, 1));
}

}  // namespace ridge::checkpoint
