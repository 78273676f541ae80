// Peaks by the vendor's own library: matrix multiplications large enough to fill the GPU. Private to limits/accelerator.
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
// is slow on most GPUs (FP64, FP32; of FP64 a single one where the GPU only has it for compatibility), many where it is fast, so that
// loading and the last wave do not show. What takes more than half of the free memory is left out.
std::vector<ProductShape> product_shapes(const Facts& facts, Precision precision);

// One row per precision; without the library its reason stands in each.
std::vector<MetricOf<PeakRow>> product_metrics(Accelerator& accelerator);

}  // namespace ridge::limits::accelerator
