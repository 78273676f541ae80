// The arithmetic of affine quantisation: real = scale · (quantised − zero point). No model, no file.
// Sources: ONNX operators QuantizeLinear-13 and DequantizeLinear-13; Jacob et al., Quantization and training of neural
// networks for efficient integer-arithmetic-only inference, 2018, equation 1.
#pragma once

#include <cstdint>
#include <vector>

#include "precision/calibration.h"

namespace ridge::precision {

struct Affine {
  float scale = 1;
  int zero_point = 0;
};

// uint8, 0 … 255. The range is widened to contain 0, so that 0 is exact (padding, ReLU).
// −1 … 3 → scale 4/255, zero point round(255/4) = 64.
Affine affine_uint8(const TensorRange& range);
// int8, zero point 0. −1 … 3 → scale 3/127.
Affine symmetric_int8(const TensorRange& range);

// Positions of a channel's values in a tensor, seen as [outer, channel, inner].
struct ChannelLayout {
  int64_t outer = 1;
  int64_t channels = 1;
  int64_t inner = 1;
};

// Every value is a number: no infinity, no NaN.
bool all_finite(const std::vector<float>& values);

struct Int8Weights {
  std::vector<int8_t> values;
  std::vector<float> scales;  // one per channel
};

// int8 without zero points: the largest magnitude of each channel → 127 (63 with `reduce_range`). `least_scales`:
// empty, or a lower bound for each scale. Values {1, -2} and {0.5, 0.25} as two channels → scales 2/127 and 0.5/127,
// values {64, -127} and {127, 64}.
Int8Weights quantise_int8(const std::vector<float>& values, const ChannelLayout& layout, bool reduce_range,
                          const std::vector<float>& least_scales = {});

// Bias as int32 with zero point 0; scales[i] for element i. Saturates.
std::vector<int32_t> quantise_int32(const std::vector<float>& values, const std::vector<float>& scales);

// Blocks along the rows of a matrix [rows, columns], each with a scale and a zero point in the middle of the unsigned
// range: value = scale · (quantised − 2^(bits − 1)).
struct BlockWeights {
  int64_t blocks = 0;  // per column: ⌈rows / block size⌉
  std::vector<uint8_t>
      values;  // [column, block, element], unsigned, one per byte; the last block is padded with the middle
  std::vector<float> scales;  // [column, block]
};
// The scale is signed, so that −2^(bits − 1) represents the value of largest magnitude exactly.
BlockWeights quantise_blocks(const std::vector<float>& matrix, int64_t rows, int64_t columns, int bits,
                             int64_t block_size);

}  // namespace ridge::precision
