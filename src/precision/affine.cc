#include "precision/affine.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ridge::precision {
namespace {

constexpr int kInt8Most = 127;
constexpr int kInt7Most = 63;

// Below the least normal number a scale loses digits, and dividing by it may overflow; such a tensor is nearly zero.
bool is_usable(float scale) { return scale >= std::numeric_limits<float>::min(); }

// Ties go to even, like QuantizeLinear. NaN becomes 0: a file may hold anything.
int rounded(double value) { return std::isnan(value) ? 0 : static_cast<int>(std::nearbyint(value)); }

float largest_magnitude(const std::vector<float>& values, const ChannelLayout& layout, int64_t channel) {
  float most = 0;
  for (int64_t outer = 0; outer < layout.outer; ++outer) {
    const auto first = static_cast<size_t>((outer * layout.channels + channel) * layout.inner);
    for (size_t i = first; i < first + static_cast<size_t>(layout.inner); ++i)
      most = std::max(most, std::abs(values[i]));
  }
  return most;
}

void quantise_channel(const std::vector<float>& values, const ChannelLayout& layout, int64_t channel, float scale,
                      int most, std::vector<int8_t>& out) {
  for (int64_t outer = 0; outer < layout.outer; ++outer) {
    const auto first = static_cast<size_t>((outer * layout.channels + channel) * layout.inner);
    for (size_t i = first; i < first + static_cast<size_t>(layout.inner); ++i)
      out[i] = static_cast<int8_t>(rounded(std::clamp<double>(values[i] / scale, -most, most)));
  }
}

}  // namespace

Affine affine_uint8(const TensorRange& range) {
  constexpr double kSteps = 255;
  const double minimum = std::min(range.minimum, 0.0);
  const double maximum = std::max(range.maximum, 0.0);
  const auto scale = static_cast<float>((maximum - minimum) / kSteps);
  if (!is_usable(scale)) return {};
  return {scale, std::clamp(rounded(-minimum / scale), 0, 255)};
}

Affine symmetric_int8(const TensorRange& range) {
  const auto scale = static_cast<float>(std::max(std::abs(range.minimum), std::abs(range.maximum)) / kInt8Most);
  return is_usable(scale) ? Affine{scale, 0} : Affine{};
}

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

Int8Weights quantise_int8(const std::vector<float>& values, const ChannelLayout& layout, bool reduce_range,
                          const std::vector<float>& least_scales) {
  const int most = reduce_range ? kInt7Most : kInt8Most;
  Int8Weights quantised;
  quantised.values.resize(values.size());
  quantised.scales.resize(static_cast<size_t>(layout.channels));
  for (int64_t channel = 0; channel < layout.channels; ++channel) {
    float& scale = quantised.scales[static_cast<size_t>(channel)];
    scale = largest_magnitude(values, layout, channel) / static_cast<float>(most);
    if (!least_scales.empty()) scale = std::max(scale, least_scales[static_cast<size_t>(channel)]);
    if (!is_usable(scale)) scale = 1;
    quantise_channel(values, layout, channel, scale, most, quantised.values);
  }
  return quantised;
}

std::vector<int32_t> quantise_int32(const std::vector<float>& values, const std::vector<float>& scales) {
  constexpr double kMost = std::numeric_limits<int32_t>::max();
  std::vector<int32_t> quantised(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const double exact = static_cast<double>(values[i]) / static_cast<double>(scales[i]);
    quantised[i] = rounded(std::clamp(exact, -kMost, kMost));
  }
  return quantised;
}

BlockWeights quantise_blocks(const std::vector<float>& matrix, int64_t rows, int64_t columns, int bits,
                             int64_t block_size) {
  const int middle = 1 << (bits - 1);
  BlockWeights quantised;
  quantised.blocks = (rows + block_size - 1) / block_size;
  quantised.values.assign(static_cast<size_t>(columns * quantised.blocks * block_size), static_cast<uint8_t>(middle));
  quantised.scales.resize(static_cast<size_t>(columns * quantised.blocks));
  for (int64_t column = 0; column < columns; ++column) {
    for (int64_t block = 0; block < quantised.blocks; ++block) {
      const int64_t first = block * block_size;
      const int64_t last = std::min(rows, first + block_size);
      float extreme = 0;
      for (int64_t row = first; row < last; ++row) {
        const float value = matrix[static_cast<size_t>(row * columns + column)];
        if (std::abs(value) > std::abs(extreme)) extreme = value;
      }
      float scale = extreme / static_cast<float>(-middle);
      if (!is_usable(std::abs(scale))) scale = 1;
      quantised.scales[static_cast<size_t>(column * quantised.blocks + block)] = scale;
      uint8_t* out = &quantised.values[static_cast<size_t>((column * quantised.blocks + block) * block_size)];
      for (int64_t row = first; row < last; ++row) {
        const double exact = matrix[static_cast<size_t>(row * columns + column)] / scale;
        *out++ = static_cast<uint8_t>(rounded(std::clamp<double>(exact + middle, 0, 2 * middle - 1)));
      }
    }
  }
  return quantised;
}

}  // namespace ridge::precision
