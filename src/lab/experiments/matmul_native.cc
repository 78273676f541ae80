#include "lab/experiments/matmul_native.h"

#include <algorithm>

namespace ridge::lab::experiments {
namespace {
namespace matmul_widths {
#define RIDGE_LOOPS "lab/experiments/matmul_native.inc"
#include "lab/experiments/every_width.inc"
#undef RIDGE_LOOPS
}  // namespace matmul_widths
}  // namespace

std::span<const MatmulLoop> matmul_loops() { return matmul_widths::widest_loops(); }

}  // namespace ridge::lab::experiments
