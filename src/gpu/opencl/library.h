// The OpenCL loader's functions used by ridge, with the types of Khronos' own headers (Debian: opencl-c-headers).
// Required functions exist in every version since 1.1; shared virtual memory came with 2.0, its prefetch with 2.1.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS  // clCreateCommandQueue, present in every version
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "gpu/library_function.h"

namespace ridge::gpu::opencl {

struct Library : FunctionTable {
  using FunctionTable::FunctionTable;

#define RIDGE_OPENCL(name) \
  Function<decltype(::name)> name { file, #name, complete }
  RIDGE_OPENCL(clGetPlatformIDs);
  RIDGE_OPENCL(clGetPlatformInfo);
  RIDGE_OPENCL(clGetDeviceIDs);
  RIDGE_OPENCL(clGetDeviceInfo);
  RIDGE_OPENCL(clCreateContext);
  RIDGE_OPENCL(clReleaseContext);
  RIDGE_OPENCL(clCreateCommandQueue);
  RIDGE_OPENCL(clReleaseCommandQueue);
  RIDGE_OPENCL(clCreateBuffer);
  RIDGE_OPENCL(clReleaseMemObject);
  RIDGE_OPENCL(clEnqueueWriteBuffer);
  RIDGE_OPENCL(clEnqueueReadBuffer);
  RIDGE_OPENCL(clCreateProgramWithSource);
  RIDGE_OPENCL(clBuildProgram);
  RIDGE_OPENCL(clGetProgramBuildInfo);
  RIDGE_OPENCL(clReleaseProgram);
  RIDGE_OPENCL(clCreateKernel);
  RIDGE_OPENCL(clReleaseKernel);
  RIDGE_OPENCL(clSetKernelArg);
  RIDGE_OPENCL(clEnqueueNDRangeKernel);
  RIDGE_OPENCL(clEnqueueCopyBuffer);
  RIDGE_OPENCL(clEnqueueMapBuffer);
  RIDGE_OPENCL(clEnqueueUnmapMemObject);
  RIDGE_OPENCL(clFlush);
  RIDGE_OPENCL(clFinish);
  RIDGE_OPENCL(clGetEventProfilingInfo);
  RIDGE_OPENCL(clReleaseEvent);
#undef RIDGE_OPENCL
#define RIDGE_OPENCL(name) \
  Function<decltype(::name)> name { file, #name }
  RIDGE_OPENCL(clSVMAlloc);
  RIDGE_OPENCL(clSVMFree);
  RIDGE_OPENCL(clSetKernelArgSVMPointer);
  RIDGE_OPENCL(clEnqueueSVMMap);
  RIDGE_OPENCL(clEnqueueSVMUnmap);
  RIDGE_OPENCL(clEnqueueSVMMigrateMem);
#undef RIDGE_OPENCL
};

}  // namespace ridge::gpu::opencl
