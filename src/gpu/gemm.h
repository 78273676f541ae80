// A matrix multiplication by a vendor's library: its problem and size. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/units.h"

namespace ridge::gpu {

// d = a · b: a of m × k, b of k × n, d of m × n values. Sums are FP32, except kFp64 and kInt8 (32-bit integers).
struct GemmProblem {
  Precision precision = Precision::kFp32;
  int64_t m = 0, n = 0, k = 0;
  // a and d are row-major. So is b, or column-major, as kFp8 and kInt8 require; k and n are then multiples of 16.
  bool b_by_columns = false;
  // d in FP32 instead of the type of a and b; for kFp16, kBf16 and kFp8, whose d is otherwise of 16 bits (kFp8: BF16).
  bool wide_result = false;
  bool operator==(const GemmProblem&) const = default;
};
double flops(const GemmProblem& problem);  // 2 · m · n · k

// Bytes of a, b and d.
struct GemmBytes {
  size_t a = 0, b = 0, d = 0;
};
GemmBytes bytes(const GemmProblem& problem);

// The library's algorithm for a problem.
struct GemmPlan {
  std::string library;  // "cuBLASLt 13.4.1"
  size_t candidates = 0;
  size_t chosen = 0;  // of the candidates; the library's first choice until it has run
};

}  // namespace ridge::gpu
