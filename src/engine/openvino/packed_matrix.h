// A matrix packed for AVX-512, and its product with rows of activations: of 8 or 4 bits by dot products of bytes (VNNI), of BF16 widened to FP32. With one
// row of 8 bits it reads the packed weights at nine tenths of the memory's rate, with many it computes at two thirds (INT8) and half (INT4) of the peak of VNNI:
// benchmarks/results/llm_decode-intel-2c.txt. Nothing of OpenVINO's; threads are the caller's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/tensor.h"
#include "checkpoint/stored_type.h"
#include "engine/openvino/matrix_form.h"
#include "engine/weight_form.h"

namespace ridge::engine::openvino {

// Whether this CPU has AVX-512 VNNI but no AMX, whose peak in INT8 is eight times as high: OpenVINO's own product of many rows uses it.
bool can_multiply_packed();
// Whether FP32 arithmetic on widened BF16 is at least as fast here as dot products of BF16, which this CPU may lack: measured once, in some 0.1 ms. On some
// CPUs those run at half the rate of FP32.
bool widening_pays();

// Rows are taken in blocks, columns in groups; both are filled up with zeros.
constexpr int64_t kBlockRows = 64;

struct PackedMatrix {
  WeightForm form = WeightForm::kInt8;  // or kInt4, kBf16
  int64_t rows = 0, columns = 0;
  // [panel of 16 rows, group of 32 columns, 16 x 32 values as the kernel takes them]. Integers unsigned: integer + 128, integer + 8.
  Buffer values;
  bool grouped = false;  // each group of a row has a scale; else the whole row
  Buffer scales;         // grouped: FP16 [panel, group, row of the panel]; else FP32 [row]; BF16 has none
  int64_t groups() const { return (columns + kInt4Group - 1) / kInt4Group; }
  int64_t blocks() const { return (rows + kBlockRows - 1) / kBlockRows; }
  int64_t bytes() const { return static_cast<int64_t>(values.size() + scales.size()); }
};

// `matrix` as form_matrix() takes it. Throws std::bad_alloc only.
PackedMatrix pack_matrix(const checkpoint::Weight& matrix, WeightForm form, int threads);

// Activations in 8 bits, a scale per group of 32: value = integer · scale, the largest of a group is ±127.
class QuantisedRows {
 public:
  QuantisedRows(int64_t rows, int64_t columns);
  void quantise(int64_t row, const float* values);  // [columns]; rows may be quantised at the same time
  int64_t rows() const { return rows_; }

  struct Group {
    int8_t values[kInt4Group];
  };
  int64_t groups() const { return groups_; }
  const Group* values(int64_t row) const { return values_.data() + row * groups_; }
  const float* scales(int64_t row) const { return scales_.data() + row * groups_; }
  const int32_t* sums(int64_t row) const { return sums_.data() + row * groups_; }

 private:
  int64_t rows_, columns_, groups_;
  std::vector<Group> values_;  // [row, group]
  std::vector<float> scales_;  // [row, group]
  std::vector<int32_t> sums_;  // of the integers: [row, group]
};

// Columns kBlockRows · block … of x · matrixᵀ, plus those of `beside` if there is one: it and the result, which may be the same, are [rows of x, matrix.rows].
// Blocks may be computed at the same time. The matrix is INT8 or INT4; or BF16, with x [rows, matrix.columns].
void multiply(const PackedMatrix& matrix, int64_t block, const QuantisedRows& x, float* result,
              const float* beside = nullptr);
void multiply(const PackedMatrix& matrix, int64_t block, const float* x, int64_t rows, float* result,
              const float* beside = nullptr);

// What lies between the products of a row: x / √(mean(x²) + ε) · weight (arXiv:1910.07467), and gate = SiLU(gate) · up (arXiv:2002.05202).
void normalise(std::span<const float> x, const float* weight, float epsilon, float* result);
void gate(std::span<float> gate, const float* up);

}  // namespace ridge::engine::openvino
