#include "lab/experiments/layer_norm_native.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace ridge::lab::experiments {
namespace {
namespace layer_norm_widths {
#define RIDGE_LOOPS "lab/experiments/layer_norm_native.inc"
#include "measure/every_width.inc"
#undef RIDGE_LOOPS
}  // namespace layer_norm_widths
}  // namespace

const LayerNormLoops& layer_norm_loops() { return layer_norm_widths::widest_loops(); }

}  // namespace ridge::lab::experiments
