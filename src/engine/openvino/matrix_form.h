// A checkpoint's matrix in the form of the weights that OpenVINO multiplies with. Pure but for the threads it starts;
// nothing of OpenVINO's.
#pragma once

#include <cstdint>
#include <functional>

#include "base/tensor.h"
#include "checkpoint/stored_type.h"
#include "engine/weight_form.h"

namespace ridge::engine::openvino {

constexpr int64_t kInt4Group = 32;  // values of a row that share a scale
constexpr int kInt4Zero = 8;        // the 4-bit value that stands for 0

// A row in a form. Values are FP32, BF16, signed INT8, or unsigned INT4: two a byte, the first in the lower half.
struct RowForm {
  int64_t bytes = 0;   // of the values
  int64_t group = 0;   // values that share a scale; FP32 and BF16 have none
  int64_t scales = 0;  // FP32
};
RowForm row_form(const checkpoint::Weight& matrix, WeightFormat form);

// Rows begin … end − 1: values [row, bytes], scales [row, scales]. For INT4 the columns are a multiple of kInt4Group.
// INT8: value = integer · scale, the largest of a row is ±127. INT4: value = (integer − 8) · scale, the largest of a
// group is 0 (as ggml's Q4_0). Integers of that width that the file has in groups are taken as they are, with their
// groups' scales. Throws std::bad_alloc only.
void form_rows(const checkpoint::Weight& matrix, WeightFormat form, int64_t begin, int64_t end, std::byte* values,
               float* scales);

// All rows, as form_rows() writes them.
struct FormedMatrix {
  Buffer values, scales;
  int64_t group = 0;
};
FormedMatrix form_matrix(const checkpoint::Weight& matrix, WeightFormat form, int threads);

// Takes rows begin … end − 1, piece after piece, on `threads` threads.
void in_pieces(int64_t rows, int64_t rows_per_piece, int threads,
               const std::function<void(int64_t begin, int64_t end)>& work);

}  // namespace ridge::engine::openvino
