// Values as 16-bit floating point.
// Sources: IEEE 754-2008, 3.4 and table 3.5 (binary16: 1 sign, 5 exponent and 10 fraction bits, largest 65504, least
// subnormal 2⁻²⁴) and 4.3.1 (round to nearest, ties to even); BF16 is the upper half of binary32: 8 exponent and 7
// fraction bits.
#pragma once

#include <bit>
#include <cstdint>

namespace ridge {

uint16_t to_fp16(double value);  // 1 → 0x3C00, 65520 → infinity (0x7C00), 2⁻²⁵ → 0 (tie), 2⁻²⁴ → 0x0001

// Without branches, so that loops over them become vector instructions.
constexpr uint16_t to_bf16(float value) {  // 1 → 0x3F80, 1 + 2⁻⁸ → 0x3F80 (tie), 1 + 3·2⁻⁸ → 0x3F82 (tie)
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
  return static_cast<uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? bits >> 16 | 0x40U : rounded);  // a NaN stays one
}
constexpr float from_bf16(uint16_t half) { return std::bit_cast<float>(static_cast<uint32_t>(half) << 16); }
constexpr float from_fp16(uint16_t half) {
  // Read as binary32, the exponent is 112 too small; the product is exact. Infinity and NaN keep all exponent bits.
  const uint32_t magnitude = static_cast<uint32_t>(half & 0x7FFFU) << 13;
  const auto scaled = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
  const uint32_t bits = magnitude >= 0x0F800000U ? magnitude | 0x7F800000U : scaled;
  return std::bit_cast<float>(bits | static_cast<uint32_t>(half & 0x8000U) << 16);
}

}  // namespace ridge
