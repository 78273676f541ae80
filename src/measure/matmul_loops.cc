#include "measure/matmul_loops.h"

#include <algorithm>

namespace ridge::measure {
namespace {
namespace matmul_widths {
#define RIDGE_LOOPS "measure/matmul_loops.inc"
#include "measure/every_width.inc"
#undef RIDGE_LOOPS
}  // namespace matmul_widths
}  // namespace

std::span<const MatmulLoop> matmul_loops() { return matmul_widths::widest_loops(); }

}  // namespace ridge::measure
