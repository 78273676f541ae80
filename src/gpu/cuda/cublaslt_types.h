// How cuBLASLt is told about a precision; private to gpu/cuda/cublaslt*.cc.
#pragma once

#include "gpu/cuda/cublaslt.h"
#include "gpu/cuda/cublaslt_abi.h"

namespace ridge::gpu::cuda {

struct ProductTypes {
  cublaslt::DataType input, result, scale;  // scale: of alpha and beta
  cublaslt::ComputeType compute;
};
ProductTypes types_of(const ProductProblem& problem);
size_t size_of(cublaslt::DataType type);  // [bytes]

}  // namespace ridge::gpu::cuda
