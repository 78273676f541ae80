// Peaks by the vendor's own library: matrix multiplications large enough to fill the GPU, with factors generated on the
// GPU and checked results. Private to limits/accelerator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/device.h"
#include "limits/accelerator/counting.h"

namespace ridge::limits::accelerator {

// The sizes to try: cubes whose result is a number of waves of 256 × 128 tiles, one tile per unit at a time. Few waves
// where the type is slow on most GPUs (FP64, FP32; a single one for compatibility-only FP64), many where it is fast, so
// that loading and the last wave do not show. A size that takes more than half of the free memory is left out.
std::vector<gpu::GemmProblem> gemm_problems(const gpu::DeviceFacts& facts, Precision precision);

// The memory that all variants share, as large as the largest of them needs from its first run on.
struct GemmMemory;
Result<std::shared_ptr<GemmMemory>> open_gemm_memory(const gpu::Device& device);
// kUnsupported: the library has no such multiplication for this device. Called in sequence, all before the first run.
Result<KernelVariant> gemm_variant(const std::shared_ptr<GemmMemory>& memory, const gpu::GemmProblem& problem);

// One row per precision; without the library each has its reason.
std::vector<MetricOf<PeakRow>> gemm_metrics(const gpu::Device& device);

// How 32-bit words become random numbers of a type (kernels/random_bits.cu).
struct RandomBits {
  uint32_t keep_even = 0, set_even = 0, keep_odd = 0, set_odd = 0;
};
RandomBits random_bits_of(Precision precision);

// The number at `index` in an array of that type, as cuBLASLt takes them: FP64, FP32 (also for TF32), FP16, BF16, FP8
// as E4M3, INT8.
double value_at(Precision precision, const std::vector<std::byte>& values, size_t index);

// The allowed error of a sum of k products of such factors. They are about 0.75 in size and of either sign, so sums are
// about 0.56 · √k; results with 8 bits of fraction and factors rounded to 10 (TF32) are within 1 % of √k. Hopper's
// tensor cores keep 14 bits of FP8 sums at every step (DeepSeek-V3 Technical Report, 3.3.2): 5 %.
double sum_tolerance(Precision precision, int64_t k);

}  // namespace ridge::limits::accelerator
