// What the fakes of libraries above NVIDIA's driver ask of the driver that the process has open (RIDGE_CUDA; fake_cuda.cc).
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <cstdlib>
#include <functional>

extern "C" {
// A GPU's part of what several do together, which is CUDA_ERROR_NOT_READY until they have come to it.
CUresult fakeCudaQueue(CUdevice device, CUstream stream, const std::function<CUresult()>* operation);
// Whether memory lies on a GPU.
bool fakeCudaHolds(CUdevice device, const void* memory, size_t bytes);
// For tests: objects that are alive.
size_t fakeCudaObjects();
}

namespace ridge::fake {

// nullptr: there is no driver, or it has no such function.
inline void* driver_symbol(const char* name) {
  const char* file = std::getenv("RIDGE_CUDA");
  void* driver = file == nullptr ? nullptr : dlopen(file, RTLD_NOW | RTLD_LOCAL);
  return driver == nullptr ? nullptr : dlsym(driver, name);
}

}  // namespace ridge::fake

#define DRIVER(function) reinterpret_cast<decltype(&::function)>(ridge::fake::driver_symbol(#function))
