#include "precision/half.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/half.h"

namespace ridge::precision {
namespace {

constexpr float kNearInfinite = 0.9F * std::numeric_limits<float>::max();
constexpr float kLargestFp16 = 65504;
constexpr float kLargestBf16 = 0x1.FEp127F;

uint16_t to_half(float value, Precision precision) {
  return precision == Precision::kFp16 ? to_fp16(value) : to_bf16(value);
}

bool is_near_infinite(float value) { return std::isfinite(value) && std::abs(value) >= kNearInfinite; }

bool is_infinite(uint16_t half, Precision precision) {
  return (half & 0x7FFFU) == (precision == Precision::kFp16 ? 0x7C00U : 0x7F80U);
}

}  // namespace

float largest_half(Precision precision) { return precision == Precision::kFp16 ? kLargestFp16 : kLargestBf16; }

HalfFit fit_of(const std::vector<float>& values, Precision precision) {
  HalfFit fit;
  for (float value : values) {
    if (value != 0) ++fit.nonzero;
    if (!std::isfinite(value)) continue;
    fit.largest = std::max(fit.largest, std::abs(value));
    const uint16_t half = to_half(value, precision);
    if (is_near_infinite(value)) {
      ++fit.near_infinite;
    } else if (is_infinite(half, precision)) {
      ++fit.too_large;
    } else if (value != 0 && (half & 0x7FFFU) == 0) {
      ++fit.lost;
    }
  }
  return fit;
}

std::string half_bytes(const std::vector<float>& values, Precision precision) {
  std::string bytes(values.size() * sizeof(uint16_t), '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    const float value = is_near_infinite(values[i]) ? std::copysign(largest_half(precision), values[i]) : values[i];
    const uint16_t half = to_half(value, precision);
    bytes[2 * i] = static_cast<char>(half & 0xFFU);
    bytes[2 * i + 1] = static_cast<char>(half >> 8);
  }
  return bytes;
}

}  // namespace ridge::precision
