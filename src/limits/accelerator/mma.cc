#include "limits/accelerator/mma.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "limits/accelerator/kernels.h"

namespace ridge::limits::accelerator {
namespace {

constexpr size_t kWarp = 32;
constexpr int kLatest = 1000;

// PTX ISA 8.5, 9.7.14.5: shapes, and the targets whose tensor cores have them. FP8 by mma.sync is native to 8.9 and
// 12.x (QMMA); for 9.0, 10.x and 11.0 the assembler emulates it by FP16 products of constants, which it moves out of
// the loop (their SASS by NVRTC 12.4 and 13.5).
constexpr MmaShape kShapes[] = {{Precision::kFp64, "FP64_8x8x4", 8, 8, 4, 80, kLatest},
                                {Precision::kTf32, "TF32_16x8x8", 16, 8, 8, 80, kLatest},
                                {Precision::kFp16, "FP16_16x8x8", 16, 8, 8, 75, 79},
                                {Precision::kFp16, "FP16_16x8x16", 16, 8, 16, 80, kLatest},
                                {Precision::kBf16, "BF16_16x8x16", 16, 8, 16, 80, kLatest},
                                {Precision::kFp8, "FP8_16x8x32", 16, 8, 32, 89, 89},
                                {Precision::kFp8, "FP8_16x8x32", 16, 8, 32, 120, kLatest},
                                {Precision::kInt8, "INT8_8x8x16", 8, 8, 16, 75, 79},
                                {Precision::kInt8, "INT8_16x8x32", 16, 8, 32, 80, kLatest}};

CountingKernel tile_counting(const MmaShape& shape, const Layout& layout) {
  CountingKernel counting;
  counting.what = fmt::format("mma.sync m{}n{}k{}", shape.m, shape.n, shape.k);
  counting.kernel = "multiply_tiles";
  counting.layout = layout;
  counting.steps_per_round = kTileStepsPerRound;
  counting.most_steps = ((int64_t{1} << 24) - 256) / shape.k;  // floats count exactly up to here
  counting.flops_per_step = flops_of_step(layout, shape);
  counting.expected = [shape](int64_t thread, int64_t steps) { return expected_tile_count(shape, thread, steps); };
  counting.counts_cycles = true;
  return counting;
}

}  // namespace

const MmaShape* shape_of(Precision precision, int capability) {
  const auto* found = std::ranges::find_if(kShapes, [&](const MmaShape& one) {
    return one.precision == precision && one.first_capability <= capability && capability <= one.last_capability;
  });
  return found == std::end(kShapes) ? nullptr : found;
}

double flops_of_step(const Layout& layout, const MmaShape& shape) {
  const auto warps = static_cast<double>(layout.threads / kWarp * layout.blocks);
  return warps * static_cast<double>(kTiles) * 2 * shape.m * shape.n * shape.k;
}

double expected_tile_count(const MmaShape& shape, int64_t thread, int64_t steps) {
  // Tile 0 begins at thread mod 8; tile i differs from it by i.
  return static_cast<double>((thread & 7) + steps * shape.k + kTiles * (kTiles - 1) / 2);
}

std::vector<MetricOf<PeakRow>> mma_metrics(const gpu::Device& device) {
  std::vector<MetricOf<PeakRow>> metrics;
  if (device.facts.dialect != gpu::Dialect::kCuda) return metrics;
  const int capability = gpu::architecture_of(device.facts);
  for (Precision precision :
       {Precision::kFp64, Precision::kTf32, Precision::kFp16, Precision::kBf16, Precision::kFp8, Precision::kInt8}) {
    MetricOf<PeakRow> peak{{precision, "mma", {}}, {}};
    const MmaShape* shape = shape_of(precision, capability);
    if (shape == nullptr)
      peak.metric.reason = fmt::format("the tensor cores of compute capability {} do not multiply {} by mma.sync",
                                       device.facts.capability, precision_name(precision));
    else if (Status added = add_counting_variants(
                 device, kernel_source(fmt::format("#define {}\n", shape->name), {"mma"}),
                 [&](const Layout& layout) { return tile_counting(*shape, layout); }, peak.metric);
             !added)
      peak.metric.reason = added.error().message;
    metrics.push_back(std::move(peak));
  }
  return metrics;
}

}  // namespace ridge::limits::accelerator
