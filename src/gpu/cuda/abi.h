// The binary interface of NVIDIA's driver (libcuda.so.1), as far as ridge calls it: our own declarations, so that no vendor
// header is needed to build; tests/abi compares them with cuda.h.
// Source: CUDA Driver API, https://docs.nvidia.com/cuda/cuda-driver-api/ (names, order of arguments, values; those of CUDA
// 13.1, which are the same in every version that has the function).
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
  kMostThreadsPerBlock = 0,
  kStaticSharedBytes = 1,
  kLocalBytes = 3,  // per thread
  kRegisters = 4,   // per thread
  kMostDynamicSharedBytes = 8,
};

enum JitOption : int { kErrorLog = 5, kErrorLogBytes = 6 };  // CUjit_option

constexpr unsigned kNonBlocking = 1;    // of a stream: does not wait for the default stream
constexpr unsigned kPortable = 1;       // of pinned memory: for all contexts
constexpr unsigned kAttachGlobal = 1;   // of managed memory
constexpr int kCaptureThreadLocal = 1;  // CUstreamCaptureMode
constexpr int kReleaseThreshold = 4;    // CUmemPool_attribute; uint64_t [bytes]
constexpr Device kCpu = -1;             // CU_DEVICE_CPU, where memory is prefetched to before CUDA 12.2
constexpr int kLocationDevice = 1;      // CUmemLocationType
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

struct Library : FunctionTable {
  using FunctionTable::FunctionTable;

#define RIDGE_CUDA_NEEDS(name, ...) \
  Function<int __VA_ARGS__> name { file, #name, complete }
#define RIDGE_CUDA_MAY_HAVE(name, ...) \
  Function<int __VA_ARGS__> name { file, #name }
  // All there since CUDA 10.1.
  RIDGE_CUDA_NEEDS(cuGetErrorName, (int, const char**));
  RIDGE_CUDA_NEEDS(cuGetErrorString, (int, const char**));
  RIDGE_CUDA_NEEDS(cuInit, (unsigned));
  RIDGE_CUDA_NEEDS(cuDriverGetVersion, (int*));
  RIDGE_CUDA_NEEDS(cuDeviceGetCount, (int*));
  RIDGE_CUDA_NEEDS(cuDeviceGet, (Device*, int));
  RIDGE_CUDA_NEEDS(cuDeviceGetName, (char*, int, Device));
  RIDGE_CUDA_NEEDS(cuDeviceTotalMem_v2, (size_t*, Device));
  RIDGE_CUDA_NEEDS(cuDeviceGetAttribute, (int*, int, Device));
  RIDGE_CUDA_NEEDS(cuDeviceGetPCIBusId, (char*, int, Device));
  RIDGE_CUDA_NEEDS(cuDevicePrimaryCtxRetain, (Handle*, Device));
  RIDGE_CUDA_NEEDS(cuCtxSetCurrent, (Handle));
  RIDGE_CUDA_NEEDS(cuModuleLoadDataEx, (Handle*, const void*, unsigned, int* options, void** values));
  RIDGE_CUDA_NEEDS(cuModuleUnload, (Handle));
  RIDGE_CUDA_NEEDS(cuModuleGetFunction, (Handle*, Handle, const char*));
  RIDGE_CUDA_NEEDS(cuFuncGetAttribute, (int*, int, Handle));
  RIDGE_CUDA_NEEDS(cuFuncSetAttribute, (Handle, int, int));
  RIDGE_CUDA_NEEDS(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int*, Handle, int threads, size_t dynamic_shared));
  RIDGE_CUDA_NEEDS(cuMemGetInfo_v2, (size_t * free, size_t* total));
  RIDGE_CUDA_NEEDS(cuMemAlloc_v2, (Address*, size_t));
  RIDGE_CUDA_NEEDS(cuMemFree_v2, (Address));
  RIDGE_CUDA_NEEDS(cuMemHostAlloc, (void**, size_t, unsigned flags));
  RIDGE_CUDA_NEEDS(cuMemFreeHost, (void*));
  RIDGE_CUDA_NEEDS(cuMemHostGetDevicePointer_v2, (Address*, void*, unsigned));
  RIDGE_CUDA_NEEDS(cuMemAllocManaged, (Address*, size_t, unsigned flags));
  RIDGE_CUDA_NEEDS(cuMemcpyHtoD_v2, (Address, const void*, size_t));
  RIDGE_CUDA_NEEDS(cuMemcpyDtoH_v2, (void*, Address, size_t));
  RIDGE_CUDA_NEEDS(cuMemcpyHtoDAsync_v2, (Address, const void*, size_t, Handle stream));
  RIDGE_CUDA_NEEDS(cuMemcpyDtoHAsync_v2, (void*, Address, size_t, Handle stream));
  RIDGE_CUDA_NEEDS(cuMemcpyDtoDAsync_v2, (Address to, Address from, size_t, Handle stream));
  RIDGE_CUDA_NEEDS(cuMemsetD8Async, (Address, unsigned char, size_t, Handle stream));
  RIDGE_CUDA_NEEDS(cuStreamCreate, (Handle*, unsigned flags));
  RIDGE_CUDA_NEEDS(cuStreamDestroy_v2, (Handle));
  RIDGE_CUDA_NEEDS(cuStreamSynchronize, (Handle));
  RIDGE_CUDA_NEEDS(cuStreamQuery, (Handle));
  RIDGE_CUDA_NEEDS(cuStreamWaitEvent, (Handle stream, Handle event, unsigned flags));
  RIDGE_CUDA_NEEDS(cuEventCreate, (Handle*, unsigned flags));
  RIDGE_CUDA_NEEDS(cuEventDestroy_v2, (Handle));
  RIDGE_CUDA_NEEDS(cuEventRecord, (Handle event, Handle stream));
  RIDGE_CUDA_NEEDS(cuEventSynchronize, (Handle));
  RIDGE_CUDA_NEEDS(cuEventElapsedTime, (float* milliseconds, Handle begin, Handle end));
  RIDGE_CUDA_NEEDS(cuLaunchKernel,
                   (Handle function, unsigned, unsigned, unsigned blocks_z, unsigned, unsigned, unsigned threads_z,
                    unsigned dynamic_shared, Handle stream, void** arguments, void** extra));
  RIDGE_CUDA_NEEDS(cuStreamBeginCapture_v2, (Handle stream, int mode));
  RIDGE_CUDA_NEEDS(cuStreamEndCapture, (Handle stream, Handle* graph));
  RIDGE_CUDA_NEEDS(cuGraphDestroy, (Handle));
  RIDGE_CUDA_NEEDS(cuGraphExecDestroy, (Handle));
  RIDGE_CUDA_NEEDS(cuGraphLaunch, (Handle executable, Handle stream));
  // Since CUDA 11.0, and what was before it.
  RIDGE_CUDA_MAY_HAVE(cuDevicePrimaryCtxRelease_v2, (Device));
  RIDGE_CUDA_MAY_HAVE(cuDevicePrimaryCtxRelease, (Device));
  RIDGE_CUDA_MAY_HAVE(cuGraphInstantiate_v2, (Handle*, Handle graph, Handle* node, char* log, size_t));
  RIDGE_CUDA_MAY_HAVE(cuGraphInstantiateWithFlags, (Handle*, Handle graph, unsigned long long));  // 11.4
  RIDGE_CUDA_MAY_HAVE(cuDeviceGetUuid, (Uuid*, Device));                                          // 9.2
  RIDGE_CUDA_MAY_HAVE(cuDeviceGetUuid_v2, (Uuid*, Device));                                       // 11.4
  RIDGE_CUDA_MAY_HAVE(cuMemAllocAsync, (Address*, size_t, Handle stream));                        // 11.2
  RIDGE_CUDA_MAY_HAVE(cuMemFreeAsync, (Address, Handle stream));                                  // 11.2
  RIDGE_CUDA_MAY_HAVE(cuDeviceGetDefaultMemPool, (Handle*, Device));                              // 11.2
  RIDGE_CUDA_MAY_HAVE(cuMemPoolSetAttribute, (Handle, int, void*));                               // 11.2
  RIDGE_CUDA_MAY_HAVE(cuIpcGetMemHandle, (IpcHandle*, Address));                                  // 4.1, as the
  RIDGE_CUDA_MAY_HAVE(cuIpcOpenMemHandle, (Address*, IpcHandle, unsigned flags));                 // following
  RIDGE_CUDA_MAY_HAVE(cuIpcOpenMemHandle_v2, (Address*, IpcHandle, unsigned flags));              // 11.0
  RIDGE_CUDA_MAY_HAVE(cuIpcCloseMemHandle, (Address));
  RIDGE_CUDA_MAY_HAVE(cuMemGetAddressRange_v2, (Address * base, size_t*, Address));
  RIDGE_CUDA_MAY_HAVE(cuMemPrefetchAsync, (Address, size_t, Device, Handle stream));                       // 8.0
  RIDGE_CUDA_MAY_HAVE(cuMemPrefetchAsync_v2, (Address, size_t, MemoryLocation, unsigned, Handle stream));  // 12.2
#undef RIDGE_CUDA_NEEDS
#undef RIDGE_CUDA_MAY_HAVE
};

}  // namespace ridge::gpu::cuda
