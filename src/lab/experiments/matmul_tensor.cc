// L15, L16: matrix multiplications on the tensor cores, ours and the vendor library's, against the cores' rate without
// memory access.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "lab/experiments/all.h"
#include "lab/workload.h"

namespace ridge::lab::experiments {
namespace {

constexpr size_t kTensorThreads = 256, kTensorRows = 128;  // of a block, as in kernels/matmul_tensor.cu
constexpr double kFlopsOfProduct =
    2.0 * 16 * 8 * 8;                   // of one c[16][8] += a[16][8 words] · b[8][8 words]ᵀ, per value of a word
constexpr size_t kProductsPerStep = 8;  // of kernel alone_…
enum TensorBuffer : size_t { kA, kB, kC, kAlone };

struct TensorFormat {
  Precision precision;
  const char* name;
  const char* kernels;  // their names' suffix
  int architecture;     // the first that has it
  double claimed;       // share of the peak, at least
};
constexpr TensorFormat kTensorFormats[] = {{Precision::kFp16, "FP16", "fp16", 75, 0.85},
                                           {Precision::kBf16, "BF16", "bf16", 80, 0.88},
                                           {Precision::kTf32, "TF32", "tf32", 80, 0.80}};

// The blocks of one kernel.
struct Blocks {
  size_t columns;
  const char* kernels;  // their names' beginning
};
constexpr Blocks kNarrow = {128, "matmul"}, kWide = {256, "matmul_wide"};

// The rule of kernels/matmul_tensor.cu: wide blocks need 144 KiB of shared memory, as these capabilities have.
bool holds_wide_blocks(int architecture) {
  return architecture == 0 || architecture == 80 || architecture == 87 || (architecture >= 90 && architecture < 120);
}

// The GPU has the memory, and the code has the kernel.
bool has_wide_blocks(const Target& target) {
  return holds_wide_blocks(target.architecture) && holds_wide_blocks(code_architecture(target));
}

const Blocks& largest_blocks(const Target& target) { return has_wide_blocks(target) ? kWide : kNarrow; }

void add_product(Case& work, const TensorFormat& format, const Blocks& blocks, size_t size, int code) {
  const size_t stages = code > 0 && code < 80 ? 2 : 3, row_bytes = 128;
  Variant variant;
  variant.name = fmt::format("tensor cores, blocks of {} × {}", kTensorRows, blocks.columns);
  auto words = static_cast<int32_t>(size / values_per_word(format.precision));
  variant.launches = {
      {fmt::format("{}_{}", blocks.kernels, format.kernels),
       {size / blocks.columns, size / kTensorRows},
       {kTensorThreads},
       {gpu::BufferNumber{kA}, gpu::BufferNumber{kB}, gpu::BufferNumber{kC}, static_cast<int32_t>(size), words},
       stages * (kTensorRows + blocks.columns) * row_bytes}};
  work.variants.push_back(std::move(variant));
}

// The same blocks by Hopper's own instructions.
void add_product_by_groups(Case& work, const TensorFormat& format, size_t size) {
  const size_t stages = 4, row_bytes = 128;
  const size_t words = size / values_per_word(format.precision);
  Variant variant;
  variant.name = fmt::format("tensor cores by warp groups, blocks of {} × {}", kTensorRows, kWide.columns);
  variant.launches = {
      {fmt::format("matmul_hopper_{}", format.kernels),
       {size / kWide.columns, size / kTensorRows},
       {kTensorThreads},
       {gpu::BoxedMatrix{{kA}, size, words, kTensorRows}, gpu::BoxedMatrix{{kB}, size, words, kWide.columns},
        gpu::BufferNumber{kC}, static_cast<int32_t>(size), static_cast<int32_t>(words)},
       stages * (kTensorRows + kWide.columns) * row_bytes}};
  work.variants.push_back(std::move(variant));
}

// Multiplies ones in registers: each result is the number of ones added.
void add_products_alone(Case& work, const TensorFormat& format, bool small) {
  const size_t blocks = small ? 1 : 2048;
  const int steps = small ? 2 : 256;
  Variant variant;
  variant.name = "tensor cores alone";
  variant.launches = {
      {fmt::format("alone_{}", format.kernels), {blocks}, {kTensorThreads}, {gpu::BufferNumber{kAlone}, steps}}};
  auto per_word = static_cast<double>(values_per_word(format.precision));
  double products = static_cast<double>(blocks * kTensorThreads / 32 * kProductsPerStep) * steps;
  variant.work = products * kFlopsOfProduct * per_word;
  variant.output = kAlone;
  variant.expected = 1;
  work.buffers.emplace_back(blocks * kTensorThreads);
  work.expected.emplace_back([sum = steps * 8 * per_word](const Buffers&, size_t) { return sum; });
  work.variants.push_back(std::move(variant));
}

// Ours use mma.sync. Hopper and server Blackwell reach their full rate with other instructions (PTX ISA: wgmma,
// tcgen05), which the vendor's library uses: there our rate is no limit.
bool mma_is_all(int architecture) { return architecture < 90 || architecture >= 120; }

// L15 is about this size, which is too small for L16 on most GPUs.
bool tests_l15(const TensorFormat& format, size_t size, const Target& target) {
  return format.precision == Precision::kFp16 && size == 1024 && target.library && mma_is_all(target.architecture);
}

// The vendor's product against the cores alone: the shares in the guides mean this.
void add_library_product(Case& work, const TensorFormat& format, size_t size, size_t alone, const Target& target) {
  Variant variant;
  variant.name = "vendor's library";
  const auto side = static_cast<int64_t>(size);
  // For FP16 and BF16 the result stays in FP32, like ours.
  variant.steps = {{gpu::Gemm{{kA}, {kB}, {kC}, {format.precision, side, side, side, true, true}}}};
  const size_t library = work.variants.size();
  work.variants.push_back(std::move(variant));
  if (!mma_is_all(target.architecture)) return;
  const Waves waves = waves_of(size, kTensorRows, largest_blocks(target).columns, target);
  const std::string because =
      "of what the cores reach that fetch nothing, by the fastest of the library's own kernels" + waves.text;
  if (tests_l15(format, size, target)) work.comparisons.push_back({"L15", library, alone, because});
  if (waves.fills)
    work.comparisons.push_back(
        {"L16", library, alone, because, measure::ClaimedFigure{measure::ClaimedFigure::kShare, format.claimed, 1.0}});
}

Case tensor_case(const TensorFormat& format, size_t size, const Target& target) {
  Case work;
  work.title = fmt::format("product of {0} × {0} {1}", size, format.name);
  work.kernels = target.warp_groups ? "half warp_matrix warp_rows warp_group matmul_tensor matmul_hopper"
                                    : "half warp_matrix warp_rows matmul_tensor";
  work.fill = [size, words = format.precision](Case& one) {
    const std::vector<float> a = coarse_values(size * size, 79), b = coarse_values(size * size, 83);
    one.buffers[kA] = words_of(a, words);
    one.buffers[kB] = words_of(turned(b, size), words);
    one.buffers[kC].resize(size * size);
    one.expected[0] = reference_of(product_of(a, b, size, checked_rows(size, size * size)));
    one.sums = row_sums_of(a, b, size);
  };
  work.buffers.resize(kAlone);
  work.expected.resize(1);
  work.output = kC;
  work.tolerance = 1e-5;  // sums are exact in FP32; tensor cores may keep a bit or two less
  work.flops = 2.0 * static_cast<double>(size * size * size);
  const int code = code_architecture(target);
  add_product(work, format, kNarrow, size, code);
  if (has_wide_blocks(target)) add_product(work, format, kWide, size, code);
  const size_t alone = work.variants.size();
  add_products_alone(work, format, target.small);
  if (target.warp_groups) add_product_by_groups(work, format, size);
  const size_t columns = largest_blocks(target).columns;
  if (const Waves waves = waves_of(size, kTensorRows, columns, target); waves.fills)
    work.comparisons = {
        {"L16", alone - 1, alone,
         fmt::format(
             "a block fetches {} values for every {} multiply-adds, while the cores work on what was "
             "fetched before{}{}",
             kTensorRows + columns, kTensorRows * columns,
             mma_is_all(target.architecture) ? "" : "; of what mma.sync reaches, which is not all that this GPU can",
             waves.text),
         measure::ClaimedFigure{measure::ClaimedFigure::kShare, format.claimed, 1.0}}};
  if (target.library) add_library_product(work, format, size, alone, target);
  return work;
}

}  // namespace

std::vector<Case> matmul_tensor_cases(const Target& target) {
  if (target.family == Family::kNative) return {};
  // Other devices emulate the tensor cores, for checking only.
  if (target.architecture == 0 && !target.small) return {};
  std::vector<Case> cases;
  for (const TensorFormat& format : kTensorFormats) {
    if (target.architecture > 0 && code_architecture(target) < format.architecture) continue;
    const size_t columns = largest_blocks(target).columns;
    if (target.small)
      cases.push_back(tensor_case(format, columns, target));
    else
      for (size_t size : {1024, 2048, 4096})
        if (waves_of(size, kTensorRows, columns, target).fills || tests_l15(format, size, target))
          cases.push_back(tensor_case(format, size, target));
  }
  return cases;
}

}  // namespace ridge::lab::experiments
