#include "precision/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace ridge::precision {
namespace {

constexpr float kStandIn = 0.9F * std::numeric_limits<float>::max();
constexpr uint32_t kInfinity32 = 0x7F800000;
constexpr uint32_t kInfinity16 = 0x7C00;
constexpr float kLargestFp16 = 65504;
constexpr float kLargestBf16 = 0x1.FEp127F;

uint16_t to_half(float value, Precision precision) {
  return precision == Precision::kFp16 ? to_fp16(value) : to_bf16(value);
}

bool is_stand_in(float value) { return std::isfinite(value) && std::abs(value) >= kStandIn; }

bool is_infinite(uint16_t half, Precision precision) {
  return (half & 0x7FFFU) == (precision == Precision::kFp16 ? kInfinity16 : kInfinity32 >> 16);
}

}  // namespace

uint16_t to_fp16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000U;
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > kInfinity32) return static_cast<uint16_t>(sign | 0x7E00U);  // NaN
  // Below 2^-14 the result is subnormal: a multiple of 2^-24, which nearbyint rounds to.
  if (magnitude < 0x38800000U) {
    const float steps = std::nearbyint(std::bit_cast<float>(magnitude) * 0x1p24F);
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(steps));
  }
  // The exponent's bias falls from 127 to 15; half of the 13 dropped bits is added, and the last kept bit breaks ties.
  const uint32_t rounded = magnitude - (112U << 23) + 0x0FFFU + (magnitude >> 13 & 1U);
  const uint32_t half = std::min(rounded >> 13, kInfinity16);
  return static_cast<uint16_t>(sign | (magnitude >= kInfinity32 ? kInfinity16 : half));
}

uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > kInfinity32) return static_cast<uint16_t>(bits >> 16 | 0x40U);  // NaN stays NaN
  return static_cast<uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

float largest_half(Precision precision) { return precision == Precision::kFp16 ? kLargestFp16 : kLargestBf16; }

HalfFit fit_of(const std::vector<float>& values, Precision precision) {
  HalfFit fit;
  for (float value : values) {
    if (value != 0) ++fit.nonzero;
    if (!std::isfinite(value)) continue;
    fit.largest = std::max(fit.largest, std::abs(value));
    const uint16_t half = to_half(value, precision);
    if (is_stand_in(value)) {
      ++fit.infinite_stand_ins;
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
    const float value = is_stand_in(values[i]) ? std::copysign(largest_half(precision), values[i]) : values[i];
    const uint16_t half = to_half(value, precision);
    bytes[2 * i] = static_cast<char>(half & 0xFFU);
    bytes[2 * i + 1] = static_cast<char>(half >> 8);
  }
  return bytes;
}

}  // namespace ridge::precision
