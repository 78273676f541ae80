// A checkpoint's matrix in the form of the weights that OpenVINO multiplies with. Pure but for the threads it starts; nothing of OpenVINO's.
#pragma once

#include <cstdint>
#include <functional>

#include "base/tensor.h"
#include "engine/weight_form.h"

namespace ridge::engine::openvino {

constexpr int64_t kInt4Group = 32;  // values of a row that share a scale
constexpr int kInt4Zero = 8;        // the 4-bit value that stands for 0

struct FormedMatrix {
  Buffer
      values;  // FP32, BF16: as named; INT8: signed; INT4: unsigned, two a byte, the first in the lower half. [rows, columns]
  Buffer scales;  // FP32. INT8: [rows]; INT4: [rows, columns / kInt4Group]; else empty
};

// `matrix`: FP32, FP16 or BF16, [rows, columns] or [columns]; for INT4 the columns are a multiple of kInt4Group.
// INT8: value = integer · scale, the largest of a row is ±127. INT4: value = (integer − 8) · scale, the largest of a group is 0 (as ggml's Q4_0).
// Throws std::bad_alloc only.
FormedMatrix form_matrix(const TensorView& matrix, WeightForm form, int threads);

// Rows begin … end − 1, piece after piece, on so many threads.
void in_pieces(int64_t rows, int64_t rows_per_piece, int threads,
               const std::function<void(int64_t begin, int64_t end)>& work);

}  // namespace ridge::engine::openvino
