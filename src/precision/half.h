// FP32 values as 16-bit ones (base/half.h), and whether they fit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace ridge::precision {

float largest_half(Precision precision);

// The effect of 16 bits on values.
struct HalfFit {
  int64_t near_infinite = 0;  // finite values of at least 0.9 · FLT_MAX: they stand for infinity (attention masks)
  int64_t too_large = 0;      // other finite values that would become infinite
  int64_t lost = 0;           // values other than 0 that would become 0
  int64_t nonzero = 0;
  float largest = 0;  // magnitude among the finite ones
};
HalfFit fit_of(const std::vector<float>& values, Precision precision);

// Packed. Values that stand for infinity become the largest finite value, so that 0 times them is 0.
std::string half_bytes(const std::vector<float>& values, Precision precision);

}  // namespace ridge::precision
