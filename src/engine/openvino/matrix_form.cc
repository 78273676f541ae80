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

template <typename Stored, typename Convert>
void decode(const std::byte* from, std::span<float> row, Convert convert) {
  for (size_t i = 0; i < row.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, from + i * sizeof stored, sizeof stored);
    row[i] = convert(stored);
  }
}

void decode_row(DataType type, const std::byte* from, std::span<float> row) {
  if (type == DataType::kFp32) return decode<float>(from, row, [](float value) { return value; });
  if (type == DataType::kBf16) return decode<uint16_t>(from, row, from_bf16);
  return decode<uint16_t>(from, row, from_fp16);
}

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
    case WeightForm::kInt8: return int8_row(row, reinterpret_cast<int8_t*>(to.values), *to.scales);
    case WeightForm::kInt4:
      for (size_t i = 0; i < row.size() / kInt4Group; ++i)
        int4_group(row.data() + i * kInt4Group, reinterpret_cast<uint8_t*>(to.values) + i * kInt4Group / 2,
                   to.scales[i]);
  }
}

int64_t bits_of(WeightForm form) {
  switch (form) {
    case WeightForm::kFp32: return 32;
    case WeightForm::kBf16: return 16;
    case WeightForm::kInt8: return 8;
    case WeightForm::kInt4: return 4;
  }
  return 0;
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

FormedMatrix form_matrix(const TensorView& matrix, WeightForm form, int threads) {
  const int64_t columns = matrix.shape.back();
  const int64_t rows = matrix.shape.size() == 2 ? matrix.shape.front() : 1;
  assert(form != WeightForm::kInt4 || columns % kInt4Group == 0);
  const int64_t scales = form == WeightForm::kInt8   ? 1
                         : form == WeightForm::kInt4 ? columns / kInt4Group
                                                     : 0;  // of a row
  const int64_t row_bytes = columns * bits_of(form) / 8;
  FormedMatrix formed{Buffer(static_cast<size_t>(rows * row_bytes)),
                      Buffer(static_cast<size_t>(rows * scales) * sizeof(float))};
  const auto stored = static_cast<int64_t>(data_type_size(matrix.type)) * columns;
  in_pieces(rows, std::max<int64_t>(1, kValuesPerPiece / columns), threads, [&](int64_t begin, int64_t end) {
    std::vector<float> row(static_cast<size_t>(columns));
    for (int64_t i = begin; i < end; ++i) {
      decode_row(matrix.type, matrix.data.data() + i * stored, row);
      form_row(row, form,
               {formed.values.data() + i * row_bytes, reinterpret_cast<float*>(formed.scales.data()) + i * scales});
    }
  });
  return formed;
}

}  // namespace ridge::engine::openvino
