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

constexpr int64_t kValuesPerPiece = 1 << 18;  // that a thread takes at a time

constexpr int64_t kStoredGroup = 32;     // values of a group that a file has
constexpr size_t kStoredScaleBytes = 2;  // FP16, before the integers

// To the nearest integer of |value| < 2²²: the sum's last bits are it.
int32_t nearest_integer(float value) {
  constexpr float kShift = 0x1.8p23F;
  return std::bit_cast<int32_t>(value + kShift) - std::bit_cast<int32_t>(kShift);
}

void int8_row(std::span<const float> row, int8_t* values, float& scale) {
  int32_t largest_bits = 0;  // of magnitudes, whose order is that of their bits
  for (const float value : row) largest_bits = std::max(largest_bits, std::bit_cast<int32_t>(value) & 0x7FFFFFFF);
  const auto largest = std::bit_cast<float>(largest_bits);
  const float inverse = largest > 0 ? 127 / largest : 0;
  scale = largest / 127;
  for (size_t i = 0; i < row.size(); ++i) values[i] = static_cast<int8_t>(nearest_integer(row[i] * inverse));
}

void int4_group(const float* group, uint8_t* values, float& scale) {
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

// The groups of a stored row as they are: INT8, or pairs of 4-bit integers that stand 16 values apart there and beside each other here.
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

struct FormedRow {
  std::byte* values;
  float* scales;
};
void form_row(std::span<const float> row, WeightForm form, FormedRow to) {
  switch (form) {
    case WeightForm::kFp32: std::memcpy(to.values, row.data(), row.size_bytes()); return;
    case WeightForm::kBf16:
      for (size_t i = 0; i < row.size(); ++i) {
        const uint16_t half = to_bf16(row[i]);
        std::memcpy(to.values + i * sizeof half, &half, sizeof half);
      }
      return;
    case WeightForm::kFp16: return;  // only graphs have it
    case WeightForm::kInt8: return int8_row(row, reinterpret_cast<int8_t*>(to.values), *to.scales);
    case WeightForm::kInt4:
      for (size_t i = 0; i < row.size() / kInt4Group; ++i)
        int4_group(row.data() + i * kInt4Group, reinterpret_cast<uint8_t*>(to.values) + i * kInt4Group / 2,
                   to.scales[i]);
  }
}

struct FormBits {
  int bits = 0;
  bool scaled = false;
};
FormBits bits_of(WeightForm form) {
  switch (form) {
    case WeightForm::kFp32: return {32};
    case WeightForm::kBf16: return {16};
    case WeightForm::kInt8: return {8, true};
    case WeightForm::kInt4: return {4, true};
    case WeightForm::kFp16: break;
  }
  return {};
}

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

FormedMatrix form_matrix(const checkpoint::Weight& matrix, WeightForm form, int threads) {
  const int64_t columns = matrix.shape.back();
  const int64_t rows = matrix.shape.size() == 2 ? matrix.shape.front() : 1;
  assert(form != WeightForm::kInt4 || columns % kInt4Group == 0);
  const FormBits width = bits_of(form);
  const bool in_groups = width.scaled && matrix.type->group_bits == width.bits;
  FormedMatrix formed;
  if (width.scaled) formed.group = in_groups ? kStoredGroup : form == WeightForm::kInt4 ? kInt4Group : columns;
  const int64_t scales = width.scaled ? columns / formed.group : 0;  // of a row
  const int64_t row_bytes = columns * width.bits / 8;
  formed.values = Buffer(static_cast<size_t>(rows * row_bytes));
  formed.scales = Buffer(static_cast<size_t>(rows * scales) * sizeof(float));
  in_pieces(rows, std::max<int64_t>(1, kValuesPerPiece / columns), threads, [&](int64_t begin, int64_t end) {
    std::vector<float> row(static_cast<size_t>(columns));
    for (int64_t i = begin; i < end; ++i) {
      const FormedRow to{formed.values.data() + i * row_bytes,
                         reinterpret_cast<float*>(formed.scales.data()) + i * scales};
      if (in_groups) {
        take_groups(checkpoint::stored_row(matrix, i), scales, width.bits, to.values, to.scales);
        continue;
      }
      checkpoint::read_row(matrix, i, row);
      form_row(row, form, to);
    }
  });
  return formed;
}

}  // namespace ridge::engine::openvino
