// The binary interface of NVIDIA's library of matrix multiplications (cuBLASLt), as far as ridge uses it: our own
// declarations, so that the build needs no vendor header; tests/abi compares them with cublasLt.h. Source: cuBLASLt
// API, https://docs.nvidia.com/cuda/cublas/#cublaslt-api-reference, and the public headers cublasLt.h, cublas_api.h and
// library_types.h of cuBLAS 13.4 (names, order of arguments, values, sizes of attributes).
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/library_function.h"

namespace ridge::gpu::cuda::cublaslt {

using Handle = void*;  // a library handle, description, layout or preference

enum StatusCode : int {  // cublasStatus_t
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocationFailed = 3,
  kInvalidValue = 7,
  kArchitectureMismatch = 8,
  kExecutionFailed = 13,
  kInternalError = 14,
  kNotSupported = 15,
};

enum DataType : int {  // cudaDataType_t
  kFloat32 = 0,
  kFloat64 = 1,
  kFloat16 = 2,
  kInt8 = 3,
  kInt32 = 10,
  kBFloat16 = 14,
  kFloat8E4M3 = 28,
};

enum ComputeType : int {  // cublasComputeType_t
  kCompute32F = 68,
  kCompute64F = 70,
  kCompute32I = 72,
  kCompute32FFastTf32 = 77,
};

constexpr int32_t kTransposed = 1;  // cublasOperation_t

enum DescriptionAttribute : int {  // cublasLtMatmulDescAttributes_t
  kTransposeA = 3,                 // int32_t
  kTransposeB = 4,                 // int32_t
  kScalePointerA = 17,             // const void*, on the GPU
  kScalePointerB = 18,             // const void*, on the GPU
  kFastAccumulation = 25,          // int8_t
};
constexpr int kMostWorkspaceBytes = 1;  // cublasLtMatmulPreferenceAttributes_t; uint64_t

struct Algorithm {  // cublasLtMatmulAlgo_t
  uint64_t data[8];
};
struct HeuristicResult {  // cublasLtMatmulHeuristicResult_t
  Algorithm algorithm;
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

// NEEDS(name, type), all present since CUDA 11.0, and MAY_HAVE(name, type), added in 11.4: the functions to look up.
#define RIDGE_CUBLASLT_FUNCTIONS(NEEDS, MAY_HAVE)                                                                      \
  NEEDS(cublasLtGetVersion, size_t())                                                                                  \
  NEEDS(cublasLtCreate, int(Handle*))                                                                                  \
  NEEDS(cublasLtDestroy, int(Handle))                                                                                  \
  NEEDS(cublasLtMatmulDescCreate, int(Handle*, int compute_type, int scale_type))                                      \
  NEEDS(cublasLtMatmulDescDestroy, int(Handle))                                                                        \
  NEEDS(cublasLtMatmulDescSetAttribute, int(Handle, int attribute, const void*, size_t))                               \
  NEEDS(cublasLtMatrixLayoutCreate,                                                                                    \
        int(Handle*, int type, uint64_t rows, uint64_t columns, int64_t leading_dimension))                            \
  NEEDS(cublasLtMatrixLayoutDestroy, int(Handle))                                                                      \
  NEEDS(cublasLtMatmulPreferenceCreate, int(Handle*))                                                                  \
  NEEDS(cublasLtMatmulPreferenceDestroy, int(Handle))                                                                  \
  NEEDS(cublasLtMatmulPreferenceSetAttribute, int(Handle, int attribute, const void*, size_t))                         \
  NEEDS(cublasLtMatmulAlgoGetHeuristic, int(Handle library, Handle description, Handle a, Handle b, Handle c,          \
                                            Handle d, Handle preference, int wanted, HeuristicResult*, int* found))    \
  NEEDS(cublasLtMatmul, int(Handle library, Handle description, const void* alpha, const void* a, Handle a_layout,     \
                            const void* b, Handle b_layout, const void* beta, const void* c, Handle c_layout, void* d, \
                            Handle d_layout, const Algorithm*, void* workspace, size_t, void* stream))                 \
  MAY_HAVE(cublasLtGetStatusString, const char*(int))

struct Library : FunctionTable {
  using FunctionTable::FunctionTable;
  RIDGE_CUBLASLT_FUNCTIONS(RIDGE_NEEDS, RIDGE_MAY_HAVE)
};

}  // namespace ridge::gpu::cuda::cublaslt
