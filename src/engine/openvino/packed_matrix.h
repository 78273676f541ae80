// A matrix packed for the kernels of packed_kernels.h, which multiply it with rows of activations: of 8 or 4 bits, BF16
// or FP32. Nothing of OpenVINO's.
#pragma once

#include <cstdint>
#include <vector>

#include "base/tensor.h"
#include "checkpoint/stored_type.h"
#include "engine/openvino/matrix_form.h"
#include "engine/weight_form.h"

namespace ridge::engine::openvino {

// Rows are taken in blocks, columns in groups; both are filled up with zeros.
constexpr int64_t kBlockRows = 64;
constexpr int64_t kPanelRows = 16;
constexpr int64_t kQuad = 4;                   // columns that one dot product sums
constexpr int64_t kLine = kPanelRows * kQuad;  // [bytes] of a panel that lie together

struct PackedMatrix {
  WeightFormat form = WeightFormat::kInt8;  // or kInt4, kBf16, kFp32
  int64_t rows = 0, columns = 0;
  // [panel of 16 rows, group of 32 columns, line, row of the panel, 4 bytes]: 4 columns of INT8; 4 of INT4 in the lower
  // halves of the bytes and the 4 that lie 16 columns behind in the upper; 2 of BF16; 1 of FP32. Integers unsigned:
  // integer + 128, integer + 8.
  Buffer values;
  bool grouped = false;  // each group of a row has a scale; else the whole row
  Buffer scales;         // grouped: FP16 [panel, group, row of the panel]; else FP32 [row]; BF16 and FP32 have none
  bool is_wide() const { return form == WeightFormat::kFp32 || form == WeightFormat::kBf16; }  // else of integers
  int64_t groups() const { return (columns + kInt4Group - 1) / kInt4Group; }
  int64_t blocks() const { return (rows + kBlockRows - 1) / kBlockRows; }
  // Leaves out the padding of the last block.
  int64_t bytes() const { return static_cast<int64_t>(values.size() + scales.size()) / (blocks() * kBlockRows) * rows; }
};

// [bytes] of a panel's group.
constexpr int64_t group_bytes(WeightFormat form) {
  const int64_t values = kPanelRows * kInt4Group;
  switch (form) {
    case WeightFormat::kFp32: return 4 * values;
    case WeightFormat::kBf16: return 2 * values;
    case WeightFormat::kInt4: return values / 2;
    default: return values;
  }
}

// `matrix` as form_matrix() takes it. Throws std::bad_alloc only.
PackedMatrix pack_matrix(const checkpoint::Weight& matrix, WeightFormat form, int threads);

// Activations in 8 bits, a scale per group of 32: value = integer · scale, the largest of a group is ±127.
struct QuantisedRows {
  QuantisedRows(int64_t rows, int64_t columns);
  int64_t rows, columns, groups;
  struct Group {
    int8_t values[kInt4Group];
  };
  std::vector<Group> values;  // [row, group]
  std::vector<float> scales;  // [row, group]
  std::vector<int32_t> sums;  // of the integers: [row, group]
};

}  // namespace ridge::engine::openvino
