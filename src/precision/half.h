// FP32 values as 16-bit ones, and whether they fit. Sources: IEEE 754-2008, 3.4 and table 3.5 (binary16: 1 sign, 5 exponent and
// 10 fraction bits, largest 65504, least subnormal 2⁻²⁴) and 4.3.1 (round to nearest, ties to even); BF16 is the upper half of
// binary32: 8 exponent and 7 fraction bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace ridge::precision {

uint16_t to_fp16(float value);  // 1 → 0x3C00, 65520 → infinity (0x7C00), 2⁻²⁵ → 0 (tie), 2⁻²⁴ → 0x0001
uint16_t to_bf16(float value);  // 1 → 0x3F80, 1 + 2⁻⁸ → 0x3F80 (tie), 1 + 3·2⁻⁸ → 0x3F82 (tie)
float largest_half(Precision precision);

// The effect of 16 bits on values.
struct HalfFit {
  int64_t infinite_stand_ins = 0;  // finite values of at least 0.9 · FLT_MAX: they stand for infinity (attention masks)
  int64_t too_large = 0;           // other finite values that would become infinite
  int64_t lost = 0;                // values other than 0 that would become 0
  int64_t nonzero = 0;
  float largest = 0;  // magnitude among the finite ones
};
HalfFit fit_of(const std::vector<float>& values, Precision precision);

// Packed. Values that stand for infinity become the largest finite value, so that 0 times them is 0.
std::string half_bytes(const std::vector<float>& values, Precision precision);

}  // namespace ridge::precision
