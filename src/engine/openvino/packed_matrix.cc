#include "engine/openvino/packed_matrix.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <vector>

#include "base/half.h"

namespace ridge::engine::openvino {
namespace {

constexpr int64_t kQuads = kInt4Group / kQuad;

// One row's group to its lane of the group's lines: 4 bytes in each.
void put(std::span<const uint32_t> quads, std::byte* group, int64_t lane) {
  for (size_t i = 0; i < quads.size(); ++i)
    std::memcpy(group + static_cast<int64_t>(i) * kLine + lane * kQuad, &quads[i], sizeof quads[i]);
}

// Puts FP32 or BF16: of two columns in 4 bytes the first is in the lower half.
template <typename Value>
void put_wide(const std::byte* row, int64_t columns, std::byte* group, int64_t lane) {
  std::array<uint32_t, kInt4Group * sizeof(Value) / kQuad> quads = {};
  std::memcpy(quads.data(), row, static_cast<size_t>(std::min(columns, kInt4Group)) * sizeof(Value));
  put(quads, group, lane);
}

void put_int8(const std::byte* row, int64_t columns, std::byte* group, int64_t lane) {
  std::array<uint32_t, kQuads> quads = {};
  std::memcpy(quads.data(), row, static_cast<size_t>(std::min(columns, kInt4Group)));
  for (uint32_t& quad : quads) quad ^= 0x80808080;  // signed + 128
  put(quads, group, lane);
}

// Two quads in each: one in the lower halves of the bytes, the one half a group behind it in the upper.
void put_int4(const std::byte* row, std::byte* group, int64_t lane) {
  constexpr size_t kHalf = kInt4Group / 4;  // [bytes]
  constexpr std::byte kLow{0x0F}, kHigh{0xF0};
  std::array<std::byte, 2 * kHalf> pairs;
  for (size_t i = 0; i < kHalf; ++i) {
    pairs[2 * i] = (row[i] & kLow) | (row[i + kHalf] << 4);
    pairs[2 * i + 1] = (row[i] >> 4) | (row[i + kHalf] & kHigh);
  }
  put(std::bit_cast<std::array<uint32_t, kQuads / 2>>(pairs), group, lane);
}

// The scales of a panel's groups in FP16: [row, group] to [group, row].
void put_scales(const float* scales, int64_t groups, std::byte* to) {
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t lane = 0; lane < kPanelRows; ++lane, to += sizeof(uint16_t)) {
      const uint16_t half = to_fp16(scales[lane * groups + g]);
      std::memcpy(to, &half, sizeof half);
    }
}

// Rows of a panel as form_rows() writes them.
void pack_panel(PackedMatrix& packed, int64_t panel, const std::byte* rows, int64_t row_bytes, const float* scales) {
  const int64_t groups = packed.groups();
  std::byte* to = packed.values.data() + panel * groups * group_bytes(packed.form);
  for (int64_t g = 0; g < groups; ++g, to += group_bytes(packed.form))
    for (int64_t lane = 0; lane < kPanelRows; ++lane) {
      const std::byte* row = rows + lane * row_bytes;
      const int64_t column = g * kInt4Group, left = packed.columns - column;
      if (packed.form == WeightFormat::kFp32)
        put_wide<uint32_t>(row + 4 * column, left, to, lane);
      else if (packed.form == WeightFormat::kBf16)
        put_wide<uint16_t>(row + 2 * column, left, to, lane);
      else if (packed.form == WeightFormat::kInt8)
        put_int8(row + column, left, to, lane);
      else
        put_int4(row + column / 2, to, lane);
    }
  if (packed.grouped)
    put_scales(scales, groups, packed.scales.data() + panel * groups * kPanelRows * 2);
  else if (packed.scales.size() > 0)
    std::memcpy(packed.scales.data() + panel * kPanelRows * 4, scales, kPanelRows * sizeof(float));
}

}  // namespace

PackedMatrix pack_matrix(const checkpoint::Weight& matrix, WeightFormat form, int threads) {
  const RowForm row = row_form(matrix, form);
  const bool grouped = row.scales > 1 || form == WeightFormat::kInt4;
  PackedMatrix packed{form, matrix.shape[0], matrix.shape[1], {}, grouped, {}};
  const int64_t panels = packed.blocks() * (kBlockRows / kPanelRows);
  packed.values = Buffer(static_cast<size_t>(panels * packed.groups() * group_bytes(form)));
  packed.scales =
      Buffer(static_cast<size_t>(panels * kPanelRows * row.scales) * (grouped ? sizeof(uint16_t) : sizeof(float)));
  in_pieces(panels, kBlockRows / kPanelRows, threads, [&](int64_t begin, int64_t end) {
    std::vector<std::byte> rows(static_cast<size_t>(kPanelRows * row.bytes));
    std::vector<float> scales(static_cast<size_t>(kPanelRows * row.scales));
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panel * kPanelRows, count = std::clamp<int64_t>(packed.rows - first, 0, kPanelRows);
      form_rows(matrix, form, first, first + count, rows.data(), scales.data());
      std::fill(rows.begin() + count * row.bytes, rows.end(), std::byte{0});
      std::fill(scales.begin() + count * row.scales, scales.end(), 0.0F);
      pack_panel(packed, panel, rows.data(), row.bytes, scales.data());
    }
  });
  return packed;
}

QuantisedRows::QuantisedRows(int64_t rows, int64_t columns)
    : rows(rows),
      columns(columns),
      groups((columns + kInt4Group - 1) / kInt4Group),
      values(static_cast<size_t>(rows * groups)),
      scales(values.size()),
      sums(values.size()) {}

}  // namespace ridge::engine::openvino
