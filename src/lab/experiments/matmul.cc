// L07, L16: a matrix multiplication from memory, by tiles in shared memory, and by blocks in registers; on the CPU in
// three orders of the same loops; and multiply-adds alone, the upper limit.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "lab/experiments/all.h"
#include "lab/workload.h"
#include "limits/peak_kernels.h"
#include "machine/isa.h"
#include "measure/matmul_loops.h"

namespace ridge::lab::experiments {
namespace {

constexpr size_t kMatmulTile = 16, kMatmulWide = 128;  // as in kernels/matmul.cu
constexpr int kChains = 16;                            // likewise

Variant matmul_kernel(std::string name, std::string kernel, size_t size, size_t tile, gpu::Extent threads) {
  Variant variant;
  variant.name = std::move(name);
  variant.launches = {{std::move(kernel),
                       {size / tile, size / tile},
                       threads,
                       {gpu::BufferNumber{0}, gpu::BufferNumber{1}, gpu::BufferNumber{2}, static_cast<int32_t>(size)}}};
  return variant;
}

// Kernel multiply_adds: chains of x · factor + offset, each in its own register.
void add_multiply_adds(Case& work, const Target& target) {
  const size_t blocks = target.small ? 1 : target.cpu ? 16 : 4096;
  const int steps = target.small ? 8 : 1024;
  constexpr float kFactorAlone = 0.75F, kOffsetAlone = 0.125F;
  Variant variant;
  variant.name = "multiply-adds alone";
  variant.launches = {{"multiply_adds", {blocks}, {256}, {gpu::BufferNumber{3}, kFactorAlone, kOffsetAlone, steps}}};
  variant.work = 2.0 * kChains * steps * static_cast<double>(blocks * 256);
  variant.output = 3;
  variant.expected = 1;
  double sum = 0;
  for (int chain = 0; chain < kChains; ++chain) sum += after_steps(chain, steps, kFactorAlone, kOffsetAlone);
  work.buffers.emplace_back(blocks * 256);
  work.expected.emplace_back([sum](const Buffers&, size_t) { return sum; });
  work.variants.push_back(std::move(variant));
}

// Among the loops that measure the CPU's FP32 peak for `ridge bench device`, the one with the widest vectors.
void add_peak_loop(Case& work) {
  const limits::PeakKernel* widest = nullptr;
  for (const limits::PeakKernel* kernel : limits::peak_kernels_for(machine::this_isa()))
    if (kernel->precision == Precision::kFp32) widest = kernel;
  if (widest == nullptr) return;  // none for this architecture
  Variant variant;
  variant.name = "multiply-adds alone";
  variant.limit = true;
  auto iterations = static_cast<int64_t>(std::max(1.0, work.flops / 4 / widest->flops_per_iteration));
  variant.work = widest->flops_per_iteration * static_cast<double>(iterations);
  variant.native = [run = widest->run, iterations](NativeBuffers) { run(iterations); };
  work.variants.push_back(std::move(variant));
}

void add_matmul_kernels(Case& work, const Target& target, size_t size) {
  work.variants = {matmul_kernel("from memory", "matmul_naive", size, kMatmulTile, {kMatmulTile, kMatmulTile}),
                   matmul_kernel("tiles", "matmul_tiles", size, kMatmulTile, {kMatmulTile, kMatmulTile}),
                   matmul_kernel("registers", "matmul_registers", size, kMatmulWide, {256})};
  work.comparisons = {
      {"L07", 1, 0, "each value that is fetched into a tile serves 16 threads instead of one"},
      {"L07", 2, 1,
       "a thread with 8 × 8 results loads 16 values for 64 multiply-adds, one with a single result 2 for 1"}};
  const Waves waves = waves_of(size, kMatmulWide, kMatmulWide, target);
  if (!waves.fills) return;
  add_multiply_adds(work, target);
  work.comparisons.push_back(
      {"L16", 2, 3, "of what multiply-adds reach that fetch nothing; here 16 loads go with every 64" + waves.text});
  if (!target.library) return;
  Variant variant;
  variant.name = "vendor's library";
  const auto side = static_cast<int64_t>(size);
  variant.steps = {{gpu::Gemm{{0}, {1}, {2}, {Precision::kFp32, side, side, side}}}};
  work.comparisons.push_back(
      {"L16", work.variants.size(), 3,
       std::string("of what multiply-adds reach that fetch nothing, by the fastest of the library's own kernels") +
           waves.text});
  work.variants.push_back(std::move(variant));
}

void add_matmul_loops(Case& work, size_t size) {
  for (const measure::MatmulLoop& loop : measure::matmul_loops()) {
    Variant variant;
    variant.name = loop.name;
    variant.native = [run = loop.run, size](NativeBuffers buffers) {
      run(buffers[0].data(), buffers[1].data(), buffers[2].data(), size);
    };
    work.variants.push_back(std::move(variant));
  }
  size_t best = work.variants.size() - 1;
  work.comparisons = {
      {"L07", 1, 0, "the inner loop walks a row of b instead of a column, in vectors"},
      {"L07", 2, 1, "a block of results stays in registers instead of being written back after every multiply-add"}};
  add_peak_loop(work);
  if (work.variants.size() > best + 1)
    work.comparisons.push_back(
        {"L16", best, best + 1,
         "of what multiply-adds reach that fetch nothing; here a vector of b is loaded for every four"});
}

Case matmul_case(const Target& target, size_t size) {
  Case work;
  work.title = fmt::format("product of {0} × {0} floats", size);
  work.kernels = "matmul";
  work.fill = [size](Case& one) {
    const auto& a = one.buffers[0] = random_values(size * size, 11);
    const auto& b = one.buffers[1] = random_values(size * size, 13);
    one.buffers[2].resize(size * size);
    one.expected[0] = reference_of(product_of(a, b, size, checked_rows(size, size * size)));
    one.sums = row_sums_of(a, b, size);
  };
  work.buffers.resize(3);
  work.expected.resize(1);
  work.output = 2;
  // A sum of n products of values below 1 in any order: error below n · 2^-24 · sum of magnitudes ≤ n² · 2^-24 at
  // worst, about its square root in practice; Higham, "Accuracy and Stability of Numerical Algorithms", 3.1.
  work.tolerance = 1e-6 * static_cast<double>(size) / 8;
  work.flops = 2.0 * static_cast<double>(size * size * size);
  if (target.family == Family::kKernels)
    add_matmul_kernels(work, target, size);
  else
    add_matmul_loops(work, size);
  return work;
}

}  // namespace

std::vector<Case> matmul_cases(const Target& target) {
  if (target.small) return {matmul_case(target, kMatmulWide)};
  if (target.family == Family::kNative || target.cpu) return {matmul_case(target, 512)};
  return {matmul_case(target, 1024), matmul_case(target, 4096)};
}

}  // namespace ridge::lab::experiments
