// Matrix multiplications by cuBLASLt on an NVIDIA GPU, with factors made on the GPU and results looked at.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "gpu/cuda/cublaslt.h"
#include "gpu/cuda/workspace.h"
#include "limits/accelerator/accelerator.h"

namespace ridge::limits::accelerator {

// How random numbers of a type are made of 32-bit words (kernels/random_bits.cu).
struct RandomBits {
  uint32_t keep_even = 0, set_even = 0, keep_odd = 0, set_odd = 0;
};
RandomBits random_bits_of(Precision precision);

// The number that stands at `index` of values of that type, as cuBLASLt takes them: FP64, FP32 (also of TF32), FP16, BF16, FP8 as
// E4M3, INT8.
double value_at(Precision precision, const std::vector<std::byte>& values, size_t index);

// How far a sum of k products of such factors may be off. They are about 0.75 in size and of either sign, so sums are about
// 0.56 · √k; results of 8 bits of fraction and factors rounded to 10 (TF32) are within 1 % of √k. Of sums of FP8 Hopper's tensor cores
// keep 14 bits at every step (DeepSeek-V3 Technical Report, 3.3.2): 5 %.
double sum_tolerance(Precision precision, int64_t k);

// `workspace`: of the GPU, empty; `newest_cuda`: major number of the driver's CUDA.
Result<std::unique_ptr<Products>> open_cuda_products(gpu::cuda::CudaWorkspace workspace, int newest_cuda);

}  // namespace ridge::limits::accelerator
