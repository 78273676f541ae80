#include "gpu/cuda/cublaslt_types.h"

namespace ridge::gpu::cuda {

using namespace cublaslt;

// Source: cuBLAS documentation, cublasLtMatmul(), tables of supported types.
ProductTypes types_of(const ProductProblem& problem) {
  const DataType wide = kFloat32;
  switch (problem.precision) {
    case ProductPrecision::kFp64: return {kFloat64, kFloat64, kFloat64, kCompute64F};
    case ProductPrecision::kFp32: return {kFloat32, kFloat32, kFloat32, kCompute32F};
    case ProductPrecision::kTf32: return {kFloat32, kFloat32, kFloat32, kCompute32FFastTf32};
    case ProductPrecision::kFp16: return {kFloat16, problem.wide_result ? wide : kFloat16, kFloat32, kCompute32F};
    case ProductPrecision::kBf16: return {kBFloat16, problem.wide_result ? wide : kBFloat16, kFloat32, kCompute32F};
    case ProductPrecision::kFp8: return {kFloat8E4M3, problem.wide_result ? wide : kBFloat16, kFloat32, kCompute32F};
    case ProductPrecision::kInt8: return {kInt8, kInt32, kInt32, kCompute32I};
  }
  return {};
}

size_t size_of(DataType type) {
  switch (type) {
    case kFloat64: return 8;
    case kFloat32:
    case kInt32: return 4;
    case kFloat16:
    case kBFloat16: return 2;
    case kInt8:
    case kFloat8E4M3: return 1;
  }
  return 0;
}

const char* name_of(ProductPrecision precision) {
  switch (precision) {
    case ProductPrecision::kFp64: return "FP64";
    case ProductPrecision::kFp32: return "FP32";
    case ProductPrecision::kTf32: return "TF32";
    case ProductPrecision::kFp16: return "FP16";
    case ProductPrecision::kBf16: return "BF16";
    case ProductPrecision::kFp8: return "FP8";
    case ProductPrecision::kInt8: return "INT8";
  }
  return "";
}

double flops(const ProductProblem& problem) {
  return 2.0 * static_cast<double>(problem.m) * static_cast<double>(problem.n) * static_cast<double>(problem.k);
}

ProductBytes bytes(const ProductProblem& problem) {
  const ProductTypes types = types_of(problem);
  auto values = [](int64_t rows, int64_t columns) { return static_cast<size_t>(rows * columns); };
  return {values(problem.m, problem.k) * size_of(types.input), values(problem.k, problem.n) * size_of(types.input),
          values(problem.m, problem.n) * size_of(types.result)};
}

}  // namespace ridge::gpu::cuda
