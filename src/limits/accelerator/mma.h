// Peaks by kernels of ours on tensor cores (kernels/mma.cu): the mma.sync instructions of PTX. Private to limits/accelerator.
//
// Not the GPU's full rate everywhere: Hopper and the servers' Blackwell reach it only by instructions that fetch their operands from
// shared memory themselves (wgmma, tcgen05), which cuBLASLt uses.
#pragma once

#include <vector>

#include "gpu/device.h"
#include "limits/accelerator/counting.h"

namespace ridge::limits::accelerator {

// A product of an m × k and a k × n tile, added to an m × n tile, by one warp.
struct MmaShape {
  Precision precision = Precision::kFp16;
  const char* name;  // of kernels/mma.cu: "FP16_16x8x16"
  int m, n, k;
  int first_capability;  // 80: 8.0
  int last_capability;   // where a larger one takes its place
};
// Null where the tensor cores of that capability do not multiply such numbers.
const MmaShape* shape_of(Precision precision, int capability);

// FLOPs of one step of every tile of every warp: warps · tiles · 2 · m · n · k.
double flops_of_step(const Layout& layout, const MmaShape& shape);

// What thread `thread` of a block must put out after `steps` steps of each tile.
double expected_tile_count(const MmaShape& shape, int64_t thread, int64_t steps);

// None for a device that is not NVIDIA's.
std::vector<MetricOf<PeakRow>> mma_metrics(const gpu::Device& device);

}  // namespace ridge::limits::accelerator
