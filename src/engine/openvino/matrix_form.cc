#include "engine/openvino/matrix_form.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "base/half.h"

namespace ridge::engine::openvino {
namespace {

// Compiled into each of the functions for one instruction set below.
#define RIDGE_INLINE [[gnu::always_inline]] inline

constexpr int64_t kValuesPerPiece = 1 << 18;  // that a thread takes at a time

constexpr int64_t kStoredGroup = 32;     // values of a group that a file has
constexpr size_t kStoredScaleBytes = 2;  // FP16, before the integers

// To the nearest integer of |value| < 2²²: the sum's last bits are it.
RIDGE_INLINE int32_t nearest_integer(float value) {
  constexpr float kShift = 0x1.8p23F;
  return std::bit_cast<int32_t>(value + kShift) - std::bit_cast<int32_t>(kShift);
}

RIDGE_INLINE void int8_row(std::span<const float> row, int8_t* values, float& scale) {
  int32_t largest_bits = 0;  // of magnitudes, whose order is that of their bits
  for (const float value : row) largest_bits = std::max(largest_bits, std::bit_cast<int32_t>(value) & 0x7FFFFFFF);
  const auto largest = std::bit_cast<float>(largest_bits);
  const float inverse = largest > 0 ? 127 / largest : 0;
  scale = largest / 127;
  for (size_t i = 0; i < row.size(); ++i) values[i] = static_cast<int8_t>(nearest_integer(row[i] * inverse));
}

RIDGE_INLINE void int4_group(const float* group, uint8_t* values, float& scale) {
  float low = group[0], high = group[0];
  for (int64_t i = 0; i < kInt4Group; ++i) {
    low = group[i] < low ? group[i] : low;
    high = group[i] > high ? group[i] : high;
  }
  const float extreme = -low > high ? low : high;
  scale = extreme / -kInt4Zero;
  const float inverse = extreme != 0 ? 1 / scale : 0;
  std::array<int32_t, kInt4Group> integers;
  for (int64_t i = 0; i < kInt4Group; ++i) integers[i] = std::min(nearest_integer(group[i] * inverse) + kInt4Zero, 15);
  for (int64_t i = 0; i < kInt4Group / 2; ++i)
    values[i] = static_cast<uint8_t>(integers[2 * i] | integers[2 * i + 1] << 4);
}

// The groups of a stored row as they are: INT8, or pairs of 4-bit integers that stand 16 values apart there and beside
// each other here.
void take_groups(const std::byte* stored, int64_t groups, int bits, std::byte* values, float* scales) {
  const int64_t integer_bytes = kStoredGroup * bits / 8;
  for (int64_t group = 0; group < groups; ++group) {
    uint16_t scale = 0;
    std::memcpy(&scale, stored, sizeof scale);
    scales[group] = from_fp16(scale);
    stored += kStoredScaleBytes;
    if (bits == 8) {
      std::memcpy(values, stored, static_cast<size_t>(integer_bytes));
    } else {
      for (int64_t i = 0; i < integer_bytes; i += 2) {
        const std::byte first = stored[i], second = stored[i + 1], low{15};
        values[i / 2] = (first & low) | (second & low) << 4;
        values[i / 2 + integer_bytes / 2] = first >> 4 | (second >> 4) << 4;
      }
    }
    stored += integer_bytes;
    values += integer_bytes;
  }
}

RIDGE_INLINE void form_row(std::span<const float> row, WeightFormat form, std::byte* values, float* scales) {
  switch (form) {
    case WeightFormat::kFp32: std::memcpy(values, row.data(), row.size_bytes()); return;
    case WeightFormat::kBf16:
      for (size_t i = 0; i < row.size(); ++i) {
        const uint16_t half = to_bf16(row[i]);
        std::memcpy(values + i * sizeof half, &half, sizeof half);
      }
      return;
    default: return;  // only graphs have FP16
    case WeightFormat::kInt8: return int8_row(row, reinterpret_cast<int8_t*>(values), *scales);
    case WeightFormat::kInt4:
      for (size_t i = 0; i < row.size() / kInt4Group; ++i)
        int4_group(row.data() + i * kInt4Group, reinterpret_cast<uint8_t*>(values) + i * kInt4Group / 2, scales[i]);
  }
}

template <float (*kWiden)(uint16_t)>
RIDGE_INLINE void widen(const std::byte* stored, std::span<float> row) {
  for (size_t i = 0; i < row.size(); ++i) {
    uint16_t half = 0;
    std::memcpy(&half, stored + i * sizeof half, sizeof half);
    row[i] = kWiden(half);
  }
}

RIDGE_INLINE void read_wide(const checkpoint::Weight& matrix, int64_t index, std::span<float> row) {
  const bool whole = matrix.shape.size() == 2;
  if (whole && matrix.type->plain == DataType::kBf16)
    return widen<from_bf16>(checkpoint::stored_row(matrix, index), row);
  if (whole && matrix.type->plain == DataType::kFp16)
    return widen<from_fp16>(checkpoint::stored_row(matrix, index), row);
  checkpoint::read_row(matrix, index, row);
}

struct FormBits {
  int bits = 0;
  bool scaled = false;
};
FormBits form_bits(WeightFormat form) {
  switch (form) {
    case WeightFormat::kFp32: return {32};
    case WeightFormat::kBf16: return {16};
    case WeightFormat::kInt8: return {8, true};
    case WeightFormat::kInt4: return {4, true};
    default: break;
  }
  return {};
}

bool in_groups(const checkpoint::Weight& matrix, const FormBits& width) {
  return width.scaled && matrix.type->group_bits == width.bits;
}

bool as_stored(const checkpoint::Weight& matrix, WeightFormat form) {
  return matrix.shape.size() == 2 && ((form == WeightFormat::kBf16 && matrix.type->plain == DataType::kBf16) ||
                                      (form == WeightFormat::kFp32 && matrix.type->plain == DataType::kFp32));
}

struct FormedRows {
  int64_t begin, end;
  std::byte* values;
  float* scales;
};

RIDGE_INLINE void convert_rows(const checkpoint::Weight& matrix, WeightFormat form, const RowForm& each,
                               FormedRows to) {
  std::vector<float> row(static_cast<size_t>(matrix.shape.back()));
  for (int64_t i = to.begin; i < to.end; ++i, to.values += each.bytes, to.scales += each.scales) {
    read_wide(matrix, i, row);
    form_row(row, form, to.values, to.scales);
  }
}

// The same loops for each width of vectors, chosen when they run.
using ConvertRows = void(const checkpoint::Weight&, WeightFormat, const RowForm&, FormedRows);
#define RIDGE_CONVERT_ROWS(name, ...)                                                                              \
  __VA_ARGS__ void name(const checkpoint::Weight& matrix, WeightFormat form, const RowForm& each, FormedRows to) { \
    convert_rows(matrix, form, each, to);                                                                          \
  }
RIDGE_CONVERT_ROWS(convert_rows_anywhere)
#if defined(__x86_64__)
RIDGE_CONVERT_ROWS(convert_rows_avx2, __attribute__((target("avx2"))))
RIDGE_CONVERT_ROWS(convert_rows_avx512, __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"))))
ConvertRows* convert_rows_here() {
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    return convert_rows_avx512;
  return __builtin_cpu_supports("avx2") ? convert_rows_avx2 : convert_rows_anywhere;
}
#else
ConvertRows* convert_rows_here() { return convert_rows_anywhere; }
#endif
#undef RIDGE_CONVERT_ROWS
#undef RIDGE_INLINE

}  // namespace

void in_pieces(int64_t rows, int64_t rows_per_piece, int threads,
               const std::function<void(int64_t begin, int64_t end)>& work) {
  std::atomic<int64_t> next = 0;
  auto run = [&] {
    for (int64_t begin = 0; (begin = next.fetch_add(rows_per_piece)) < rows;)
      work(begin, std::min(begin + rows_per_piece, rows));
  };
  const int64_t pieces = (rows + rows_per_piece - 1) / rows_per_piece;
  std::vector<std::jthread> others;
  for (int64_t i = 1; i < std::min<int64_t>(threads, pieces); ++i) others.emplace_back(run);
  run();
}

RowForm row_form(const checkpoint::Weight& matrix, WeightFormat form) {
  const int64_t columns = matrix.shape.back();
  assert(form != WeightFormat::kInt4 || columns % kInt4Group == 0);
  const FormBits width = form_bits(form);
  RowForm row{columns * width.bits / 8};
  if (!width.scaled) return row;
  row.group = in_groups(matrix, width) ? kStoredGroup : form == WeightFormat::kInt4 ? kInt4Group : columns;
  row.scales = columns / row.group;
  return row;
}

void form_rows(const checkpoint::Weight& matrix, WeightFormat form, int64_t begin, int64_t end, std::byte* values,
               float* scales) {
  const RowForm each = row_form(matrix, form);
  const FormBits width = form_bits(form);
  if (!as_stored(matrix, form) && !in_groups(matrix, width))
    return convert_rows_here()(matrix, form, each, {begin, end, values, scales});
  for (int64_t i = begin; i < end; ++i, values += each.bytes, scales += each.scales) {
    const std::byte* stored = checkpoint::stored_row(matrix, i);
    if (each.scales == 0)
      std::memcpy(values, stored, static_cast<size_t>(each.bytes));
    else
      take_groups(stored, each.scales, width.bits, values, scales);
  }
}

FormedMatrix form_matrix(const checkpoint::Weight& matrix, WeightFormat form, int threads) {
  const int64_t rows = matrix.shape.size() == 2 ? matrix.shape.front() : 1;
  const RowForm each = row_form(matrix, form);
  FormedMatrix formed{Buffer(static_cast<size_t>(rows * each.bytes)),
                      Buffer(static_cast<size_t>(rows * each.scales) * sizeof(float)), each.group};
  const int64_t rows_per_piece = std::max<int64_t>(1, kValuesPerPiece / matrix.shape.back());
  in_pieces(rows, rows_per_piece, threads, [&](int64_t begin, int64_t end) {
    form_rows(matrix, form, begin, end, formed.values.data() + begin * each.bytes,
              reinterpret_cast<float*>(formed.scales.data()) + begin * each.scales);
  });
  return formed;
}

}  // namespace ridge::engine::openvino
