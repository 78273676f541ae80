// L07: a matrix product from memory, by tiles in shared memory, and by blocks in registers; on the processor in three orders of
// the same loops.
#include <fmt/format.h>

#include <algorithm>

#include "lab/experiments/all.h"
#include "lab/experiments/matmul_native.h"
#include "lab/workload.h"

namespace ridge::lab {
namespace {

constexpr size_t kMatmulTile = 16, kMatmulWide = 128;  // as in kernels/matmul.cu

// Sums in double, so that its own rounding is no part of the comparison.
std::vector<float> product(std::span<const float> a, std::span<const float> b, size_t size) {
  std::vector<float> c(size * size);
  std::vector<double> row(size);
  for (size_t i = 0; i < size; ++i) {
    std::fill(row.begin(), row.end(), 0.0);
    for (size_t k = 0; k < size; ++k)
      for (size_t j = 0; j < size; ++j) row[j] += static_cast<double>(a[i * size + k]) * b[k * size + j];
    std::transform(row.begin(), row.end(), c.begin() + static_cast<ptrdiff_t>(i * size),
                   [](double value) { return static_cast<float>(value); });
  }
  return c;
}

Variant matmul_kernel(std::string name, std::string kernel, size_t size, size_t tile, gpu::Extent threads) {
  Variant variant;
  variant.name = std::move(name);
  variant.launches = {{std::move(kernel),
                       {size / tile, size / tile},
                       threads,
                       {gpu::BufferNumber{0}, gpu::BufferNumber{1}, gpu::BufferNumber{2}, static_cast<int32_t>(size)}}};
  return variant;
}

void add_matmul_kernels(Case& work, size_t size) {
  work.variants = {matmul_kernel("from memory", "matmul_naive", size, kMatmulTile, {kMatmulTile, kMatmulTile}),
                   matmul_kernel("tiles", "matmul_tiles", size, kMatmulTile, {kMatmulTile, kMatmulTile}),
                   matmul_kernel("registers", "matmul_registers", size, kMatmulWide, {256})};
  work.comparisons = {
      {"L07", 1, 0, "each value that is fetched into a tile serves 16 threads instead of one", std::nullopt},
      {"L07", 2, 1,
       "a thread with 8 × 8 results loads 16 values for 64 multiply-adds, one with a single result 2 for 1",
       std::nullopt}};
}

void add_matmul_loops(Case& work, size_t size) {
  for (const MatmulLoop& loop : matmul_loops()) {
    Variant variant;
    variant.name = loop.name;
    variant.native = [run = loop.run, size](NativeBuffers buffers) {
      run(buffers[0].data(), buffers[1].data(), buffers[2].data(), size);
    };
    work.variants.push_back(std::move(variant));
  }
  work.comparisons = {
      {"L07", 1, 0, "the inner loop walks a row of b instead of a column, in vectors", std::nullopt},
      {"L07", 2, 1, "a block of results stays in registers instead of being written back after every multiply-add",
       std::nullopt}};
}

}  // namespace

std::vector<Case> matmul_cases(const Target& target) {
  Case work;
  size_t size = target.small ? kMatmulWide : target.family == Family::kNative || target.processor ? 512 : 1024;
  work.title = fmt::format("product of {0} × {0} floats", size);
  work.kernels = "matmul";
  work.buffers = {random_values(size * size, 11), random_values(size * size, 13), std::vector<float>(size * size)};
  work.output = 2;
  work.expected = {product(work.buffers[0], work.buffers[1], size)};
  // A sum of n products of values below 1 in any order: error below n · 2^-24 · sum of magnitudes ≤ n² · 2^-24 at worst, and
  // about the square root of that in practice; Higham, "Accuracy and Stability of Numerical Algorithms", 3.1.
  work.tolerance = 1e-6 * static_cast<double>(size) / 8;
  work.flops = 2.0 * static_cast<double>(size * size * size);
  if (target.family == Family::kKernels)
    add_matmul_kernels(work, size);
  else
    add_matmul_loops(work, size);
  return {work};
}

}  // namespace ridge::lab
