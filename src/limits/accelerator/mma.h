// Peaks by our kernels on tensor cores (kernels/mma.cu): PTX's mma.sync. Private to limits/accelerator.
//
// Hopper and server Blackwell reach their full rate only with instructions that fetch their operands from shared memory
// (wgmma, tcgen05), which cuBLASLt uses.
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
  int last_capability;   // where a larger one replaces it
};
// Tiles of a warp per round of the kernel's loop.
constexpr int64_t kTiles = 8, kTileStepsPerRound = 4;
// Null where the tensor cores of that capability do not multiply such numbers.
const MmaShape* shape_of(Precision precision, int capability);

// FLOPs of one step of every tile of every warp: warps · tiles · 2 · m · n · k.
double flops_of_step(const Layout& layout, const MmaShape& shape);

// The expected output of thread `thread` of a block after `steps` steps of each tile.
double expected_tile_count(const MmaShape& shape, int64_t thread, int64_t steps);

// None for a device of another vendor.
std::vector<MetricOf<PeakRow>> mma_metrics(const gpu::Device& device);

}  // namespace ridge::limits::accelerator
