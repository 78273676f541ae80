// sigmoid(layer_norm(x)) on one thread of the CPU: in three passes over memory, or all in one.
#pragma once

#include <cstddef>

namespace ridge::lab::experiments {

struct LayerNormWork {
  const float* in;       // [row, column]
  const float* scale;    // [column]
  const float* shift;    // [column]
  float* moments;        // [2, row]: mean, 1 / standard deviation
  float* between;        // [row, column]
  float* out;            // [row, column]
  size_t rows, columns;  // columns is a multiple of 16
};
constexpr float kLayerNormEpsilon = 1e-5F;

struct LayerNormLoops {
  void (*moments)(const LayerNormWork&);
  void (*normalise)(const LayerNormWork&);
  void (*sigmoid)(const LayerNormWork&);
  void (*fused)(const LayerNormWork&);
};
// Compiled for the widest vectors of this CPU.
const LayerNormLoops& layer_norm_loops();

}  // namespace ridge::lab::experiments
