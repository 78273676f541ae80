// gpu/nccl/abi.h against the declarations of NVIDIA's nccl.h; it compiles, or they differ.
#include "gpu/nccl/abi.h"
#include "same_abi.h"

#include <nccl.h>

namespace ridge::gpu::nccl {
namespace {

RIDGE_NCCL_FUNCTIONS(SAME_FUNCTION, SAME_FUNCTION)
SAME_VALUE(kSuccess, ncclSuccess);
SAME_VALUE(kUnhandledCudaError, ncclUnhandledCudaError);
SAME_VALUE(kSystemError, ncclSystemError);
SAME_VALUE(kInternalError, ncclInternalError);
SAME_VALUE(kInvalidArgument, ncclInvalidArgument);
SAME_VALUE(kInvalidUsage, ncclInvalidUsage);
SAME_VALUE(kRemoteError, ncclRemoteError);
SAME_VALUE(kInProgress, ncclInProgress);
SAME_VALUE(kTimeout, ncclTimeout);
SAME_VALUE(kFloat32, ncclFloat32);
SAME_VALUE(kSum, ncclSum);

}  // namespace
}  // namespace ridge::gpu::nccl
