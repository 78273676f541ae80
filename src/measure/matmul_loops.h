// Matrix multiplications on one thread of the CPU.
#pragma once

#include <cstddef>
#include <span>

namespace ridge::measure {

// c = a · b of squares of `size` floats, row by row; size is a multiple of 64.
using Matmul = void (*)(const float* a, const float* b, float* c, size_t size);

struct MatmulLoop {
  const char* name;
  Matmul run;
};
// Ordered from the plainest to the best, compiled for the widest vectors of this CPU.
std::span<const MatmulLoop> matmul_loops();

}  // namespace ridge::measure
