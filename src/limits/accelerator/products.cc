#include "limits/accelerator/products.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "catalogue/capability.h"

namespace ridge::limits::accelerator {
namespace {

constexpr double kTile = 256 * 128;  // numbers of a result that one multiprocessor makes at a time
constexpr int64_t kCubeStep = 256;   // sizes are multiples of it
constexpr int64_t kLargestValue = 8;

constexpr Precision kProductPrecisions[] = {Precision::kFp64, Precision::kFp32, Precision::kTf32, Precision::kFp16,
                                            Precision::kBf16, Precision::kFp8,  Precision::kInt8};

ProductShape cube_of(const Facts& facts, double waves) {
  const auto units = static_cast<double>(std::max<int64_t>(1, facts.compute_units));
  const int64_t size = std::llround(std::ceil(std::sqrt(units * kTile * waves) / kCubeStep)) * kCubeStep;
  return {size, size, size};
}

// At half the rate of FP32, as the chips for servers do; others at 1/32 or 1/64 (data/compute_capability.csv).
bool computes_fp64_fast(const Facts& facts) {
  Result<std::vector<catalogue::Capability>> all = catalogue::capabilities();
  if (!all) return false;
  Result<catalogue::Capability> found = catalogue::find_capability(*all, facts.capability);
  return found && found->fp64_lanes && found->fp32_lanes && 2 * *found->fp64_lanes >= *found->fp32_lanes;
}

KernelVariant multiplying(const LibraryProduct& product) {
  KernelVariant variant;
  variant.conditions = product.what;
  variant.run = one_by_one([product](int64_t repeats) -> Result<Burst> {
    RIDGE_ASSIGN(double seconds, product.seconds(repeats));
    return Burst{product.flops * static_cast<double>(repeats), seconds};
  });
  variant.check = product.check;
  variant.how = product.how;
  variant.most_repeats = 1000;  // that wait in a queue
  return variant;
}

}  // namespace

std::vector<ProductShape> product_shapes(const Facts& facts, Precision precision) {
  const bool slow = precision == Precision::kFp64 || precision == Precision::kFp32;
  if (precision == Precision::kFp64 && !computes_fp64_fast(facts)) return {cube_of(facts, 1)};
  const int64_t most_bytes = 2 * facts.largest_buffer_bytes;  // a buffer may take a quarter of what is free
  std::vector<ProductShape> shapes;
  for (double waves : slow ? std::array{1.0, 4.0, 16.0} : std::array{4.0, 16.0, 64.0}) {
    const ProductShape shape = cube_of(facts, waves);
    if (3 * shape.m * shape.n * kLargestValue <= most_bytes) shapes.push_back(shape);
  }
  return shapes;
}

std::vector<MetricOf<PeakRow>> product_metrics(Accelerator& accelerator) {
  std::vector<MetricOf<PeakRow>> metrics;
  if (accelerator.facts().dialect != Dialect::kCuda) return metrics;  // OpenCL has no library of its own
  Result<std::unique_ptr<Products>> opened = accelerator.products();
  std::shared_ptr<Products> products;
  if (opened) products = std::move(*opened);
  for (Precision precision : kProductPrecisions) {
    MetricOf<PeakRow> peak{{precision, "cuBLASLt", {}}, {}};
    if (!products) peak.metric.reason = opened.error().message;
    if (products) peak.metric.reason = "the GPU has too little free memory for a product that fills it";
    for (const ProductShape& shape : product_shapes(accelerator.facts(), precision)) {
      if (!products) break;
      Result<LibraryProduct> product = products->prepare(precision, shape.m, shape.n, shape.k);
      if (product)
        peak.metric.variants.push_back(multiplying(*product));
      else
        peak.metric.reason = product.error().message;
    }
    metrics.push_back(std::move(peak));
  }
  return metrics;
}

}  // namespace ridge::limits::accelerator
