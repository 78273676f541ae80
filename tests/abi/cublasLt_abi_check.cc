// gpu/cuda/cublaslt_abi.h against the declarations of NVIDIA's cublasLt.h; it compiles, or they differ.
#include "gpu/cuda/cublaslt_abi.h"
#include "same_abi.h"

#include <cublasLt.h>

namespace ridge::gpu::cuda::cublaslt {
namespace {

RIDGE_CUBLASLT_FUNCTIONS(SAME_FUNCTION, SAME_FUNCTION)
static_assert(abi::same_type<Algorithm, cublasLtMatmulAlgo_t>() &&
              sizeof(Algorithm::data) == sizeof(cublasLtMatmulAlgo_t::data) &&
              abi::same_type<HeuristicResult, cublasLtMatmulHeuristicResult_t>());
SAME_MEMBER(HeuristicResult, cublasLtMatmulHeuristicResult_t, algorithm, algo);
SAME_MEMBER(HeuristicResult, cublasLtMatmulHeuristicResult_t, workspace_bytes, workspaceSize);
SAME_MEMBER(HeuristicResult, cublasLtMatmulHeuristicResult_t, state, state);
SAME_MEMBER(HeuristicResult, cublasLtMatmulHeuristicResult_t, waves, wavesCount);
SAME_VALUE(kSuccess, CUBLAS_STATUS_SUCCESS);
SAME_VALUE(kNotInitialized, CUBLAS_STATUS_NOT_INITIALIZED);
SAME_VALUE(kAllocationFailed, CUBLAS_STATUS_ALLOC_FAILED);
SAME_VALUE(kInvalidValue, CUBLAS_STATUS_INVALID_VALUE);
SAME_VALUE(kArchitectureMismatch, CUBLAS_STATUS_ARCH_MISMATCH);
SAME_VALUE(kExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
SAME_VALUE(kInternalError, CUBLAS_STATUS_INTERNAL_ERROR);
SAME_VALUE(kNotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
SAME_VALUE(kFloat32, CUDA_R_32F);
SAME_VALUE(kFloat64, CUDA_R_64F);
SAME_VALUE(kFloat16, CUDA_R_16F);
SAME_VALUE(kInt8, CUDA_R_8I);
SAME_VALUE(kInt32, CUDA_R_32I);
SAME_VALUE(kBFloat16, CUDA_R_16BF);
SAME_VALUE(kFloat8E4M3, CUDA_R_8F_E4M3);
SAME_VALUE(kCompute32F, CUBLAS_COMPUTE_32F);
SAME_VALUE(kCompute64F, CUBLAS_COMPUTE_64F);
SAME_VALUE(kCompute32I, CUBLAS_COMPUTE_32I);
SAME_VALUE(kCompute32FFastTf32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME_VALUE(kTransposed, CUBLAS_OP_T);
SAME_VALUE(kTransposeA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME_VALUE(kTransposeB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME_VALUE(kScalePointerA, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
SAME_VALUE(kScalePointerB, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
SAME_VALUE(kFastAccumulation, CUBLASLT_MATMUL_DESC_FAST_ACCUM);
SAME_VALUE(kMostWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);

}  // namespace
}  // namespace ridge::gpu::cuda::cublaslt
