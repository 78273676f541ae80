// Functions of the process's open driver for the fakes of libraries above it (RIDGE_CUDA; fake_cuda.cc).
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <cstdlib>
#include <functional>

extern "C" {
// A GPU's part of a joint operation: CUDA_ERROR_NOT_READY until all have reached it.
CUresult fakeCudaQueue(CUdevice device, CUstream stream, const std::function<CUresult()>* operation);
// True if memory is on a GPU.
bool fakeCudaHolds(CUdevice device, const void* memory, size_t bytes);
// For tests: live objects.
size_t fakeCudaObjects();
// For tests: waits for events so far that let the thread sleep.
size_t fakeCudaSleepingWaits();
}

namespace ridge::fake {

// nullptr: no driver, or no such function.
inline void* driver_symbol(const char* name) {
  const char* file = std::getenv("RIDGE_CUDA");
  void* driver = file == nullptr ? nullptr : dlopen(file, RTLD_NOW | RTLD_LOCAL);
  return driver == nullptr ? nullptr : dlsym(driver, name);
}

}  // namespace ridge::fake

#define DRIVER(function) reinterpret_cast<decltype(&::function)>(ridge::fake::driver_symbol(#function))
