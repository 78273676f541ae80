// Peaks by the maker's own library: matrix products large enough to fill the card. Private to limits/accelerator.
#pragma once

#include <cstdint>
#include <vector>

#include "limits/accelerator/accelerator.h"
#include "limits/accelerator/counting.h"

namespace ridge::limits::accelerator {

// m × k times k × n.
struct ProductShape {
  int64_t m = 0, n = 0, k = 0;
};
// Those that are tried: cubes whose result is so many waves of tiles of 256 × 128, one tile per unit at a time. Few waves where the type
// is slow on most cards (FP64, FP32; of FP64 a single one where the card only has it for compatibility), many where it is fast, so that
// loading and the last wave do not show. What takes more than half of the free memory is left out.
std::vector<ProductShape> product_shapes(const Facts& facts, Precision precision);

// One row per precision; without the library its reason stands in each.
std::vector<PeakQuestion> product_questions(Accelerator& accelerator);

}  // namespace ridge::limits::accelerator
