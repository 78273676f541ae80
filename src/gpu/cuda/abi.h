// The binary interface of NVIDIA's driver (libcuda.so.1), as far as ridge uses it: our own declarations, so that the
// build needs no vendor header; tests/abi compares them with cuda.h. Source: CUDA Driver API,
// https://docs.nvidia.com/cuda/cuda-driver-api/ (names, order of arguments, values; those of CUDA 13.1, the same in
// every version with the function).
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/library_function.h"

namespace ridge::gpu::cuda {

using Handle = void*;      // a context, module, function, stream, event, graph, instantiated graph or pool
using Address = uint64_t;  // CUdeviceptr
using Device = int;        // CUdevice

enum ResultCode : int {  // CUresult
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kStubLibrary = 34,
  kNeedsNewerDriver = 36,
  kDeviceUnavailable = 46,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kNotLicensed = 102,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kEccUncorrectable = 214,
  kInvalidPtx = 218,
  kNvlinkUncorrectable = 220,
  kNoPtxCompiler = 221,
  kUnsupportedPtxVersion = 222,
  kPtxCompilationDisabled = 223,
  kContained = 226,
  kInvalidHandle = 400,
  kIllegalState = 401,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kAssertFailed = 710,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidPc = 718,
  kLaunchFailed = 719,
  kNotPermitted = 800,
  kNotSupported = 801,
  kSystemNotReady = 802,
  kDriverMismatch = 803,
  kCompatibilityNotSupported = 804,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureImplicit = 906,
  kUnknown = 999,
};

enum DeviceAttribute : int {  // CUdevice_attribute
  kThreadsPerBlock = 1,
  kSharedPerBlock = 8,  // [bytes]
  kWarpSize = 10,
  kRegistersPerBlock = 12,
  kClockKhz = 13,
  kMultiprocessors = 16,
  kIntegrated = 18,
  kComputeMode = 20,
  kEcc = 32,
  kMemoryClockKhz = 36,
  kMemoryBusBits = 37,
  kL2Bytes = 38,
  kThreadsPerMultiprocessor = 39,
  kAsyncEngines = 40,
  kUnifiedAddressing = 41,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kSharedPerMultiprocessor = 81,  // [bytes]
  kRegistersPerMultiprocessor = 82,
  kManagedMemory = 83,
  kConcurrentManagedAccess = 89,
  kSharedPerBlockOptIn = 97,  // [bytes]
  kBlocksPerMultiprocessor = 106,
  kMemoryPools = 115,
};

enum FunctionAttribute : int {  // CUfunction_attribute
  kRegisters = 4,               // per thread
  kMostDynamicSharedBytes = 8,
};

enum JitOption : int { kErrorLog = 5, kErrorLogBytes = 6 };  // CUjit_option

constexpr unsigned kNonBlocking = 1;    // of a stream: does not wait for the default stream
constexpr unsigned kBlockingSync = 1;   // of an event: who waits for it sleeps
constexpr unsigned kPortable = 1;       // of pinned memory: for all contexts
constexpr unsigned kAttachGlobal = 1;   // of managed memory
constexpr int kCaptureThreadLocal = 1;  // CUstreamCaptureMode
constexpr int kCaptureRelaxed = 2;
constexpr int kReleaseThreshold = 4;  // CUmemPool_attribute; uint64_t [bytes]
constexpr Device kCpu = -1;           // CU_DEVICE_CPU, prefetch target for host memory before CUDA 12.2
constexpr int kLocationDevice = 1;    // CUmemLocationType
constexpr int kLocationHost = 2;
constexpr unsigned kLazyPeerAccess = 1;  // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS

struct Uuid {
  uint8_t bytes[16];
};
struct IpcHandle {  // CUipcMemHandle: of memory, for another process; passed by value
  char bytes[64];   // CU_IPC_HANDLE_SIZE
};
struct MemoryLocation {  // CUmemLocation
  int type;
  int id;
};
struct alignas(64) TensorMap {  // CUtensorMap
  uint64_t opaque[16];
};
// Enumerators for cuTensorMapEncodeTiled: CUtensorMapDataType, Interleave, Swizzle, L2promotion, FloatOOBfill.
constexpr int kTensorOfWords = 2, kNoInterleave = 0, kSwizzle128Bytes = 3, kPromote128Bytes = 2, kNoFill = 0;

// NEEDS(name, type), all present since CUDA 10.1, and MAY_HAVE(name, type): the functions to look up. An older driver
// lacks some of the latter: cuDevicePrimaryCtxRelease_v2, cuGraphInstantiate_v2 and cuIpcOpenMemHandle_v2 replaced the
// unnumbered names in CUDA 11.0, the pools came with 11.2, cuGraphInstantiateWithFlags and cuDeviceGetUuid_v2 with
// 11.4, cuTensorMapEncodeTiled with 12.0, cuMemPrefetchAsync_v2 with 12.2.
#define RIDGE_CUDA_FUNCTIONS(NEEDS, MAY_HAVE)                                                               \
  NEEDS(cuGetErrorName, int(int, const char**))                                                             \
  NEEDS(cuGetErrorString, int(int, const char**))                                                           \
  NEEDS(cuInit, int(unsigned))                                                                              \
  NEEDS(cuDriverGetVersion, int(int*))                                                                      \
  NEEDS(cuDeviceGetCount, int(int*))                                                                        \
  NEEDS(cuDeviceGet, int(Device*, int))                                                                     \
  NEEDS(cuDeviceGetName, int(char*, int, Device))                                                           \
  NEEDS(cuDeviceTotalMem_v2, int(size_t*, Device))                                                          \
  NEEDS(cuDeviceGetAttribute, int(int*, int, Device))                                                       \
  NEEDS(cuDeviceGetPCIBusId, int(char*, int, Device))                                                       \
  NEEDS(cuDevicePrimaryCtxRetain, int(Handle*, Device))                                                     \
  NEEDS(cuCtxSetCurrent, int(Handle))                                                                       \
  NEEDS(cuModuleLoadDataEx, int(Handle*, const void*, unsigned, int* options, void** values))               \
  NEEDS(cuModuleUnload, int(Handle))                                                                        \
  NEEDS(cuModuleGetFunction, int(Handle*, Handle, const char*))                                             \
  NEEDS(cuFuncGetAttribute, int(int*, int, Handle))                                                         \
  NEEDS(cuFuncSetAttribute, int(Handle, int, int))                                                          \
  NEEDS(cuOccupancyMaxActiveBlocksPerMultiprocessor, int(int*, Handle, int threads, size_t dynamic_shared)) \
  NEEDS(cuMemGetInfo_v2, int(size_t * free, size_t * total))                                                \
  NEEDS(cuMemAlloc_v2, int(Address*, size_t))                                                               \
  NEEDS(cuMemFree_v2, int(Address))                                                                         \
  NEEDS(cuMemHostAlloc, int(void**, size_t, unsigned flags))                                                \
  NEEDS(cuMemFreeHost, int(void*))                                                                          \
  NEEDS(cuMemHostGetDevicePointer_v2, int(Address*, void*, unsigned))                                       \
  NEEDS(cuMemAllocManaged, int(Address*, size_t, unsigned flags))                                           \
  NEEDS(cuMemcpyHtoD_v2, int(Address, const void*, size_t))                                                 \
  NEEDS(cuMemcpyDtoH_v2, int(void*, Address, size_t))                                                       \
  NEEDS(cuMemcpyHtoDAsync_v2, int(Address, const void*, size_t, Handle stream))                             \
  NEEDS(cuMemcpyDtoHAsync_v2, int(void*, Address, size_t, Handle stream))                                   \
  NEEDS(cuMemcpyDtoDAsync_v2, int(Address to, Address from, size_t, Handle stream))                         \
  NEEDS(cuMemsetD8Async, int(Address, unsigned char, size_t, Handle stream))                                \
  NEEDS(cuStreamCreate, int(Handle*, unsigned flags))                                                       \
  NEEDS(cuStreamDestroy_v2, int(Handle))                                                                    \
  NEEDS(cuStreamSynchronize, int(Handle))                                                                   \
  NEEDS(cuStreamQuery, int(Handle))                                                                         \
  NEEDS(cuStreamWaitEvent, int(Handle stream, Handle event, unsigned flags))                                \
  NEEDS(cuEventCreate, int(Handle*, unsigned flags))                                                        \
  NEEDS(cuEventDestroy_v2, int(Handle))                                                                     \
  NEEDS(cuEventRecord, int(Handle event, Handle stream))                                                    \
  NEEDS(cuEventSynchronize, int(Handle))                                                                    \
  NEEDS(cuEventElapsedTime, int(float* milliseconds, Handle begin, Handle end))                             \
  NEEDS(cuLaunchKernel,                                                                                     \
        int(Handle function, unsigned, unsigned, unsigned blocks_z, unsigned, unsigned, unsigned threads_z, \
            unsigned dynamic_shared, Handle stream, void** arguments, void** extra))                        \
  NEEDS(cuStreamBeginCapture_v2, int(Handle stream, int mode))                                              \
  NEEDS(cuStreamEndCapture, int(Handle stream, Handle * graph))                                             \
  NEEDS(cuThreadExchangeStreamCaptureMode, int(int* mode))                                                  \
  NEEDS(cuGraphDestroy, int(Handle))                                                                        \
  NEEDS(cuGraphExecDestroy, int(Handle))                                                                    \
  NEEDS(cuGraphLaunch, int(Handle executable, Handle stream))                                               \
  MAY_HAVE(cuDevicePrimaryCtxRelease_v2, int(Device))                                                       \
  MAY_HAVE(cuDevicePrimaryCtxRelease, int(Device))                                                          \
  MAY_HAVE(cuGraphInstantiate_v2, int(Handle*, Handle graph, Handle * node, char* log, size_t))             \
  MAY_HAVE(cuGraphInstantiateWithFlags, int(Handle*, Handle graph, unsigned long long))                     \
  MAY_HAVE(cuDeviceGetUuid, int(Uuid*, Device))                                                             \
  MAY_HAVE(cuDeviceGetUuid_v2, int(Uuid*, Device))                                                          \
  MAY_HAVE(cuMemAllocAsync, int(Address*, size_t, Handle stream))                                           \
  MAY_HAVE(cuMemFreeAsync, int(Address, Handle stream))                                                     \
  MAY_HAVE(cuDeviceGetDefaultMemPool, int(Handle*, Device))                                                 \
  MAY_HAVE(cuMemPoolSetAttribute, int(Handle, int, void*))                                                  \
  MAY_HAVE(cuIpcGetMemHandle, int(IpcHandle*, Address))                                                     \
  MAY_HAVE(cuIpcOpenMemHandle, int(Address*, IpcHandle, unsigned flags))                                    \
  MAY_HAVE(cuIpcOpenMemHandle_v2, int(Address*, IpcHandle, unsigned flags))                                 \
  MAY_HAVE(cuIpcCloseMemHandle, int(Address))                                                               \
  MAY_HAVE(cuMemGetAddressRange_v2, int(Address * base, size_t*, Address))                                  \
  MAY_HAVE(cuMemPrefetchAsync, int(Address, size_t, Device, Handle stream))                                 \
  MAY_HAVE(cuMemPrefetchAsync_v2, int(Address, size_t, MemoryLocation, unsigned, Handle stream))            \
  MAY_HAVE(cuTensorMapEncodeTiled,                                                                          \
           int(TensorMap*, int type, unsigned rank, void*, const uint64_t* sizes, const uint64_t* strides,  \
               const unsigned* box, const unsigned* steps, int, int swizzle, int promotion, int fill))

struct Library : FunctionTable {
  using FunctionTable::FunctionTable;
  RIDGE_CUDA_FUNCTIONS(RIDGE_NEEDS, RIDGE_MAY_HAVE)
};

}  // namespace ridge::gpu::cuda
