#include "gpu/gemm.h"

namespace ridge::gpu {
namespace {

struct ValueBytes {
  size_t factor = 0, result = 0, wide_result = 0;
};

// Source: cuBLAS documentation, cublasLtMatmul(), tables of supported types.
ValueBytes value_bytes_of(Precision precision) {
  switch (precision) {
    case Precision::kFp64: return {8, 8, 8};
    case Precision::kFp32:
    case Precision::kTf32: return {4, 4, 4};
    case Precision::kFp16:
    case Precision::kBf16: return {2, 2, 4};
    case Precision::kFp8: return {1, 2, 4};
    case Precision::kInt8: return {1, 4, 4};
    default: return {};
  }
}

}  // namespace

double flops(const GemmProblem& problem) {
  return 2.0 * static_cast<double>(problem.m) * static_cast<double>(problem.n) * static_cast<double>(problem.k);
}

GemmBytes bytes(const GemmProblem& problem) {
  const ValueBytes value = value_bytes_of(problem.precision);
  auto values = [](int64_t rows, int64_t columns) { return static_cast<size_t>(rows * columns); };
  return {values(problem.m, problem.k) * value.factor, values(problem.k, problem.n) * value.factor,
          values(problem.m, problem.n) * (problem.wide_result ? value.wide_result : value.result)};
}

}  // namespace ridge::gpu
