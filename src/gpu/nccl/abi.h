// The binary interface of NVIDIA's library of collective operations (NCCL), as far as ridge calls it: our own declarations, so that no
// vendor header is needed to build.
// Source: NCCL user guide, "NCCL API" (https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api.html), and the public header nccl.h
// of NCCL 2.32 (names, order of arguments, values; those of 2.4 and later are the same).
#pragma once

#include <cstddef>

#include "gpu/library_function.h"

namespace ridge::gpu::nccl {

using Communicator = void*;  // ncclComm_t
using Stream = void*;        // cudaStream_t, which is the driver's

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

struct Library : FunctionTable {
  using FunctionTable::FunctionTable;

#define RIDGE_NCCL(name, ...) \
  Function<__VA_ARGS__> name { file, #name, complete }
  // All there since 2.4.
  RIDGE_NCCL(ncclGetVersion, int(int*));
  RIDGE_NCCL(ncclGetErrorString, const char*(int));
  RIDGE_NCCL(ncclCommInitAll, int(Communicator*, int count, const int* devices));
  RIDGE_NCCL(ncclCommDestroy, int(Communicator));
  RIDGE_NCCL(ncclCommAbort, int(Communicator));
  RIDGE_NCCL(ncclCommGetAsyncError, int(Communicator, int*));
  RIDGE_NCCL(ncclGroupStart, int());
  RIDGE_NCCL(ncclGroupEnd, int());
  RIDGE_NCCL(ncclAllReduce,
             int(const void* from, void* to, size_t count, int type, int operation, Communicator, Stream));
  // The count is of what each GPU sends.
  RIDGE_NCCL(ncclAllGather, int(const void* from, void* to, size_t count, int type, Communicator, Stream));
  // The count is of what each GPU receives.
  RIDGE_NCCL(ncclReduceScatter,
             int(const void* from, void* to, size_t count, int type, int operation, Communicator, Stream));
  RIDGE_NCCL(ncclBroadcast, int(const void* from, void* to, size_t count, int type, int root, Communicator, Stream));
#undef RIDGE_NCCL
  Function<const char*(Communicator)> ncclGetLastError{file, "ncclGetLastError"};  // 2.13; of any communicator
};

}  // namespace ridge::gpu::nccl
