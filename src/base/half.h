// Values as 16-bit floating point.
// Sources: IEEE 754-2008, 3.4 and table 3.5 (binary16: 1 sign, 5 exponent and 10 fraction bits, largest 65504, least subnormal
// 2⁻²⁴) and 4.3.1 (round to nearest, ties to even); BF16 is the upper half of binary32: 8 exponent and 7 fraction bits.
#pragma once

#include <cstdint>

namespace ridge {

uint16_t to_fp16(double value);  // 1 → 0x3C00, 65520 → infinity (0x7C00), 2⁻²⁵ → 0 (tie), 2⁻²⁴ → 0x0001
uint16_t to_bf16(float value);  // 1 → 0x3F80, 1 + 2⁻⁸ → 0x3F80 (tie), 1 + 3·2⁻⁸ → 0x3F82 (tie)

}  // namespace ridge
