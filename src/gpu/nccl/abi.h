// The binary interface of NVIDIA's library of collective operations (NCCL), as far as ridge uses it: our own declarations, so
// that the build needs no vendor header; tests/abi compares them with nccl.h. Source: NCCL user guide, "NCCL API"
// (https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api.html), and the public header nccl.h of NCCL 2.32 (names, order
// of arguments, values; those of 2.4 and later are the same).
#pragma once

#include <cstddef>

#include "gpu/library_function.h"

namespace ridge::gpu::nccl {

using Communicator = void*;  // ncclComm_t
using Stream = void*;        // cudaStream_t, the driver's

enum ResultCode : int {  // ncclResult_t
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
  kTimeout = 8,
};

constexpr int kFloat32 = 7;  // ncclDataType_t
constexpr int kSum = 0;      // ncclRedOp_t

// NEEDS(name, type), all present since 2.4, and MAY_HAVE(name, type), added in 2.13: the functions to look up. The count of
// ncclAllGather is each GPU's sent values, that of ncclReduceScatter each one's received; ncclGetLastError takes any
// communicator.
#define RIDGE_NCCL_FUNCTIONS(NEEDS, MAY_HAVE)                                                                        \
  NEEDS(ncclGetVersion, int(int*))                                                                                   \
  NEEDS(ncclGetErrorString, const char*(int))                                                                        \
  NEEDS(ncclCommInitAll, int(Communicator*, int count, const int* devices))                                          \
  NEEDS(ncclCommDestroy, int(Communicator))                                                                          \
  NEEDS(ncclCommAbort, int(Communicator))                                                                            \
  NEEDS(ncclCommGetAsyncError, int(Communicator, int*))                                                              \
  NEEDS(ncclGroupStart, int())                                                                                       \
  NEEDS(ncclGroupEnd, int())                                                                                         \
  NEEDS(ncclAllReduce, int(const void* from, void* to, size_t count, int type, int operation, Communicator, Stream)) \
  NEEDS(ncclAllGather, int(const void* from, void* to, size_t count, int type, Communicator, Stream))                \
  NEEDS(ncclReduceScatter,                                                                                           \
        int(const void* from, void* to, size_t count, int type, int operation, Communicator, Stream))                \
  NEEDS(ncclBroadcast, int(const void* from, void* to, size_t count, int type, int root, Communicator, Stream))      \
  MAY_HAVE(ncclGetLastError, const char*(Communicator))

struct Library : FunctionTable {
  using FunctionTable::FunctionTable;
  RIDGE_NCCL_FUNCTIONS(RIDGE_NEEDS, RIDGE_MAY_HAVE)
};

}  // namespace ridge::gpu::nccl
