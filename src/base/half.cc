#include "base/half.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ridge {

uint16_t to_fp16(double value) {
  constexpr uint64_t kInfinity64 = 0x7FF0000000000000, kInfinity16 = 0x7C00;
  constexpr uint64_t kBiases = uint64_t{1023 - 15} << 52;  // the exponent's bias falls from 1023 to 15
  constexpr int kDropped = 52 - 10;                        // fraction bits
  const auto bits = std::bit_cast<uint64_t>(value);
  const uint64_t sign = bits >> 48 & 0x8000U;
  const uint64_t magnitude = bits & ~(uint64_t{1} << 63);
  if (magnitude > kInfinity64) return static_cast<uint16_t>(sign | 0x7E00U);  // NaN
  // Below 2^-14 the result is subnormal: a multiple of 2^-24, which nearbyint rounds to.
  if (std::abs(value) < 0x1p-14)
    return static_cast<uint16_t>(sign | static_cast<uint64_t>(std::nearbyint(std::abs(value) * 0x1p24)));
  // Half of the dropped bits is added, and the last kept bit breaks ties.
  const uint64_t half = (uint64_t{1} << (kDropped - 1)) - 1 + (magnitude >> kDropped & 1U);
  const uint64_t rounded = (magnitude - kBiases + half) >> kDropped;
  return static_cast<uint16_t>(sign | std::min(rounded, kInfinity16));
}

}  // namespace ridge
