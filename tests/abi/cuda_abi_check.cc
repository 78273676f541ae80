// gpu/cuda/abi.h against NVIDIA's cuda.h; it compiles, or they differ.
#include "gpu/cuda/abi.h"
#include "same_abi.h"

#define __CUDA_API_VERSION_INTERNAL  // declares what older drivers have, too, and gives no function the name of its newest version
#include <cuda.h>

namespace ridge::gpu::cuda {
namespace {

#define FUNCTION(name) static_assert(abi::SameFunction<decltype(Library::name)::Type, decltype(::name)>::value)
FUNCTION(cuGetErrorName);
FUNCTION(cuGetErrorString);
FUNCTION(cuInit);
FUNCTION(cuDriverGetVersion);
FUNCTION(cuDeviceGetCount);
FUNCTION(cuDeviceGet);
FUNCTION(cuDeviceGetName);
FUNCTION(cuDeviceTotalMem_v2);
FUNCTION(cuDeviceGetAttribute);
FUNCTION(cuDeviceGetPCIBusId);
FUNCTION(cuDevicePrimaryCtxRetain);
FUNCTION(cuCtxSetCurrent);
FUNCTION(cuModuleLoadDataEx);
FUNCTION(cuModuleUnload);
FUNCTION(cuModuleGetFunction);
FUNCTION(cuFuncGetAttribute);
FUNCTION(cuFuncSetAttribute);
FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessor);
FUNCTION(cuMemGetInfo_v2);
FUNCTION(cuMemAlloc_v2);
FUNCTION(cuMemFree_v2);
FUNCTION(cuMemHostAlloc);
FUNCTION(cuMemFreeHost);
FUNCTION(cuMemHostGetDevicePointer_v2);
FUNCTION(cuMemAllocManaged);
FUNCTION(cuMemcpyHtoD_v2);
FUNCTION(cuMemcpyDtoH_v2);
FUNCTION(cuMemcpyHtoDAsync_v2);
FUNCTION(cuMemcpyDtoHAsync_v2);
FUNCTION(cuMemcpyDtoDAsync_v2);
FUNCTION(cuMemsetD8Async);
FUNCTION(cuStreamCreate);
FUNCTION(cuStreamDestroy_v2);
FUNCTION(cuStreamSynchronize);
FUNCTION(cuStreamQuery);
FUNCTION(cuStreamWaitEvent);
FUNCTION(cuEventCreate);
FUNCTION(cuEventDestroy_v2);
FUNCTION(cuEventRecord);
FUNCTION(cuEventSynchronize);
FUNCTION(cuEventElapsedTime);
FUNCTION(cuLaunchKernel);
FUNCTION(cuStreamBeginCapture_v2);
FUNCTION(cuStreamEndCapture);
FUNCTION(cuGraphDestroy);
FUNCTION(cuGraphExecDestroy);
FUNCTION(cuGraphLaunch);
FUNCTION(cuDevicePrimaryCtxRelease_v2);
FUNCTION(cuDevicePrimaryCtxRelease);
FUNCTION(cuGraphInstantiate_v2);
FUNCTION(cuGraphInstantiateWithFlags);
FUNCTION(cuDeviceGetUuid);
FUNCTION(cuDeviceGetUuid_v2);
FUNCTION(cuMemAllocAsync);
FUNCTION(cuMemFreeAsync);
FUNCTION(cuDeviceGetDefaultMemPool);
FUNCTION(cuMemPoolSetAttribute);
FUNCTION(cuIpcGetMemHandle);
FUNCTION(cuIpcOpenMemHandle);
FUNCTION(cuIpcOpenMemHandle_v2);
FUNCTION(cuIpcCloseMemHandle);
FUNCTION(cuMemGetAddressRange_v2);
FUNCTION(cuMemPrefetchAsync);
FUNCTION(cuMemPrefetchAsync_v2);
#undef FUNCTION

static_assert(abi::same_type<Uuid, CUuuid>() && abi::same_type<IpcHandle, CUipcMemHandle>() &&
              abi::same_type<MemoryLocation, CUmemLocation>() && abi::same_type<Address, CUdeviceptr>());
static_assert(offsetof(MemoryLocation, id) == offsetof(CUmemLocation, id));

#define VALUE(ours, theirs) static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs))
VALUE(kSuccess, CUDA_SUCCESS);
VALUE(kInvalidValue, CUDA_ERROR_INVALID_VALUE);
VALUE(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
VALUE(kNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
VALUE(kStubLibrary, CUDA_ERROR_STUB_LIBRARY);
static_assert(kNeedsNewerDriver == 36);  // CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, which came after this header
VALUE(kDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
VALUE(kNoDevice, CUDA_ERROR_NO_DEVICE);
VALUE(kInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
VALUE(kNotLicensed, CUDA_ERROR_DEVICE_NOT_LICENSED);
VALUE(kInvalidImage, CUDA_ERROR_INVALID_IMAGE);
VALUE(kInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
VALUE(kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
VALUE(kEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
VALUE(kInvalidPtx, CUDA_ERROR_INVALID_PTX);
VALUE(kNvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
VALUE(kNoPtxCompiler, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
VALUE(kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
VALUE(kPtxCompilationDisabled, CUDA_ERROR_JIT_COMPILATION_DISABLED);
VALUE(kContained, CUDA_ERROR_CONTAINED);
VALUE(kInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
VALUE(kIllegalState, CUDA_ERROR_ILLEGAL_STATE);
VALUE(kNotFound, CUDA_ERROR_NOT_FOUND);
VALUE(kNotReady, CUDA_ERROR_NOT_READY);
VALUE(kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
VALUE(kLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
VALUE(kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
VALUE(kAssertFailed, CUDA_ERROR_ASSERT);
VALUE(kHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
VALUE(kIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
VALUE(kMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
VALUE(kInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE);
VALUE(kInvalidPc, CUDA_ERROR_INVALID_PC);
VALUE(kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
VALUE(kNotPermitted, CUDA_ERROR_NOT_PERMITTED);
VALUE(kNotSupported, CUDA_ERROR_NOT_SUPPORTED);
VALUE(kSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY);
VALUE(kDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
VALUE(kCompatibilityNotSupported, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
VALUE(kCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
VALUE(kCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
VALUE(kCaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
VALUE(kUnknown, CUDA_ERROR_UNKNOWN);
VALUE(kThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
VALUE(kSharedPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
VALUE(kWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
VALUE(kRegistersPerBlock, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
VALUE(kClockKhz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
VALUE(kMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
VALUE(kIntegrated, CU_DEVICE_ATTRIBUTE_INTEGRATED);
VALUE(kComputeMode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
VALUE(kEcc, CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
VALUE(kMemoryClockKhz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
VALUE(kMemoryBusBits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
VALUE(kL2Bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
VALUE(kThreadsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
VALUE(kAsyncEngines, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
VALUE(kUnifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
VALUE(kCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
VALUE(kCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
VALUE(kSharedPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
VALUE(kRegistersPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
VALUE(kManagedMemory, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
VALUE(kConcurrentManagedAccess, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
VALUE(kSharedPerBlockOptIn, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
VALUE(kBlocksPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
VALUE(kMemoryPools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
VALUE(kMostThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
VALUE(kStaticSharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
VALUE(kLocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
VALUE(kRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS);
VALUE(kMostDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
VALUE(kErrorLog, CU_JIT_ERROR_LOG_BUFFER);
VALUE(kErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
VALUE(kNonBlocking, CU_STREAM_NON_BLOCKING);
VALUE(kPortable, CU_MEMHOSTALLOC_PORTABLE);
VALUE(kAttachGlobal, CU_MEM_ATTACH_GLOBAL);
VALUE(kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
VALUE(kReleaseThreshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
VALUE(kCpu, CU_DEVICE_CPU);
VALUE(kLocationDevice, CU_MEM_LOCATION_TYPE_DEVICE);
VALUE(kLocationHost, CU_MEM_LOCATION_TYPE_HOST);
VALUE(kLazyPeerAccess, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
#undef VALUE

}  // namespace
}  // namespace ridge::gpu::cuda
