// The binary interface of OpenCL, as far as ridge calls it: our own declarations, so that no header is needed to build.
// Source: OpenCL 1.2 specification and its header registry, https://registry.khronos.org/OpenCL/ (names, order of arguments,
// values). Everything that must be there is in every version since 1.1; shared virtual memory came with 2.0, moving it ahead
// of its use with 2.1.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/library_function.h"

namespace ridge::gpu::opencl {

using Handle = void*;  // a platform, device, context, queue, buffer, program, kernel or event
using Bits = uint64_t;

constexpr int32_t kSuccess = 0;
constexpr int32_t kDeviceNotFound = -1;
constexpr int32_t kBuildProgramFailure = -11;
constexpr int32_t kPlatformNotFound = -1001;  // of the loader: no implementation is installed

constexpr uint32_t kPlatformName = 0x0902;

constexpr Bits kAllDevices = 0xFFFFFFFF;
constexpr Bits kCpu = 1 << 1, kGpu = 1 << 2, kAccelerator = 1 << 3;
enum DeviceInfo : uint32_t {
  kDeviceType = 0x1000,           // Bits
  kDeviceComputeUnits = 0x1002,   // uint32_t
  kDeviceMaxGroup = 0x1004,       // size_t
  kDeviceClockMhz = 0x100C,       // uint32_t
  kDeviceLargestBuffer = 0x1010,  // uint64_t [bytes]
  kDeviceGlobalCache = 0x101E,    // uint64_t [bytes]
  kDeviceGlobalMemory = 0x101F,   // uint64_t [bytes]
  kDeviceLocalMemory = 0x1023,    // uint64_t [bytes]
  kDeviceName = 0x102B,
  kDeviceVendor = 0x102C,
  kDriverVersion = 0x102D,
  kDeviceVersion = 0x102F,
  kDeviceExtensions = 0x1030,
  kDeviceNativeFloats = 0x103A,  // uint32_t: lanes of a vector of the hardware, as the next two
  kDeviceNativeDoubles = 0x103B,
  kDeviceNativeHalves = 0x103C,
  kDeviceDotProducts = 0x1073,  // Bits, with cl_khr_integer_dot_product
  kDevicePciBus = 0x410F,       // PciBus, with cl_khr_pci_bus_info
  kNvidiaBus = 0x4008,          // uint32_t, with cl_nv_device_attribute_query, as the next two
  kNvidiaSlot = 0x4009,         // device number, and below its last three bits the function
  kNvidiaDomain = 0x400A,
  kDeviceSvm = 0x1053,  // Bits; 0 or refused: none
};
struct PciBus {
  uint32_t domain, bus, device, function;
};
constexpr Bits kDot4x8Packed = 1 << 0;  // of kDeviceDotProducts

constexpr Bits kProfiling = 1 << 1;     // of a queue
constexpr Bits kReadWrite = 1 << 0;     // of a buffer
constexpr Bits kInHostMemory = 1 << 4;  // of a buffer: CL_MEM_ALLOC_HOST_PTR, where the device fetches by itself
constexpr Bits kMapRead = 1 << 0, kMapWrite = 1 << 1;
constexpr Bits kToHost = 1 << 0;  // of a migration
constexpr uint32_t kBuildLog = 0x1183;
constexpr uint32_t kBlocking = 1, kNonBlocking = 0;
constexpr uint32_t kCommandStart = 0x1282, kCommandEnd = 0x1283;  // [ns]

struct Library : FunctionTable {
  using FunctionTable::FunctionTable;

#define RIDGE_OPENCL(name, ...) \
  Function<__VA_ARGS__> name { file, #name, complete }
  RIDGE_OPENCL(clGetPlatformIDs, int32_t(uint32_t, Handle*, uint32_t*));
  RIDGE_OPENCL(clGetPlatformInfo, int32_t(Handle, uint32_t, size_t, void*, size_t*));
  RIDGE_OPENCL(clGetDeviceIDs, int32_t(Handle, Bits type, uint32_t, Handle*, uint32_t*));
  RIDGE_OPENCL(clGetDeviceInfo, int32_t(Handle, uint32_t, size_t, void*, size_t*));
  using Notify = void (*)(const char*, const void*, size_t, void*);
  RIDGE_OPENCL(clCreateContext,
               Handle(const intptr_t* properties, uint32_t, const Handle* devices, Notify, void*, int32_t*));
  RIDGE_OPENCL(clReleaseContext, int32_t(Handle));
  RIDGE_OPENCL(clCreateCommandQueue, Handle(Handle context, Handle device, Bits properties, int32_t*));
  RIDGE_OPENCL(clReleaseCommandQueue, int32_t(Handle));
  RIDGE_OPENCL(clCreateBuffer, Handle(Handle context, Bits flags, size_t, void* host, int32_t*));
  RIDGE_OPENCL(clReleaseMemObject, int32_t(Handle));
  RIDGE_OPENCL(clEnqueueWriteBuffer, int32_t(Handle queue, Handle buffer, uint32_t blocking, size_t offset, size_t,
                                             const void*, uint32_t, const Handle*, Handle*));
  RIDGE_OPENCL(clEnqueueReadBuffer, int32_t(Handle queue, Handle buffer, uint32_t blocking, size_t offset, size_t,
                                            void*, uint32_t, const Handle*, Handle*));
  RIDGE_OPENCL(clCreateProgramWithSource,
               Handle(Handle context, uint32_t, const char* const* texts, const size_t* sizes, int32_t*));
  using Built = void (*)(Handle, void*);
  RIDGE_OPENCL(clBuildProgram, int32_t(Handle program, uint32_t, const Handle* devices, const char*, Built, void*));
  RIDGE_OPENCL(clGetProgramBuildInfo, int32_t(Handle program, Handle device, uint32_t, size_t, void*, size_t*));
  RIDGE_OPENCL(clReleaseProgram, int32_t(Handle));
  RIDGE_OPENCL(clCreateKernel, Handle(Handle program, const char* name, int32_t*));
  RIDGE_OPENCL(clReleaseKernel, int32_t(Handle));
  RIDGE_OPENCL(clSetKernelArg, int32_t(Handle kernel, uint32_t index, size_t, const void*));
  RIDGE_OPENCL(clEnqueueNDRangeKernel,
               int32_t(Handle queue, Handle kernel, uint32_t dimensions, const size_t* offset, const size_t* threads,
                       const size_t* threads_per_block, uint32_t, const Handle*, Handle* event));
  RIDGE_OPENCL(clEnqueueCopyBuffer, int32_t(Handle queue, Handle from, Handle to, size_t from_offset, size_t to_offset,
                                            size_t, uint32_t, const Handle*, Handle*));
  RIDGE_OPENCL(clEnqueueMapBuffer, void*(Handle queue, Handle buffer, uint32_t blocking, Bits flags, size_t offset,
                                         size_t, uint32_t, const Handle*, Handle*, int32_t*));
  RIDGE_OPENCL(clEnqueueUnmapMemObject,
               int32_t(Handle queue, Handle buffer, void* mapped, uint32_t, const Handle*, Handle*));
  RIDGE_OPENCL(clFlush, int32_t(Handle queue));
  RIDGE_OPENCL(clFinish, int32_t(Handle queue));
  RIDGE_OPENCL(clGetEventProfilingInfo, int32_t(Handle event, uint32_t, size_t, void*, size_t*));
  RIDGE_OPENCL(clReleaseEvent, int32_t(Handle));
#undef RIDGE_OPENCL
#define RIDGE_OPENCL(name, ...) \
  Function<__VA_ARGS__> name { file, #name }
  RIDGE_OPENCL(clSVMAlloc, void*(Handle context, Bits flags, size_t, uint32_t alignment));
  RIDGE_OPENCL(clSVMFree, void(Handle context, void*));
  RIDGE_OPENCL(clSetKernelArgSVMPointer, int32_t(Handle kernel, uint32_t index, const void*));
  RIDGE_OPENCL(clEnqueueSVMMap,
               int32_t(Handle queue, uint32_t blocking, Bits flags, void*, size_t, uint32_t, const Handle*, Handle*));
  RIDGE_OPENCL(clEnqueueSVMUnmap, int32_t(Handle queue, void*, uint32_t, const Handle*, Handle*));
  RIDGE_OPENCL(clEnqueueSVMMigrateMem, int32_t(Handle queue, uint32_t, const void** addresses, const size_t* sizes,
                                               Bits flags, uint32_t, const Handle*, Handle*));
#undef RIDGE_OPENCL
};

}  // namespace ridge::gpu::opencl
