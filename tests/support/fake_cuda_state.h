// Shared by the two halves of the fake driver: GPUs, the thread's context, and the start of a function. All under one
// lock, taken by every exported function.
#pragma once

#include <mutex>

#include "fake_cuda_device.h"
#include "fake_driver.h"

namespace ridge::fake {

inline std::recursive_mutex& mutex() {
  static std::recursive_mutex one;
  return one;
}
inline Script& cuda_script() { return script_of("RIDGE_FAKE_CUDA"); }
inline Cpu& cpu() {
  static Cpu one;
  return one;
}
inline std::vector<CUctx_st>& gpus() {
  static std::vector<CUctx_st> made = [] {
    std::vector<CUctx_st> all(cuda_script().gpus.size());
    for (size_t i = 0; i < all.size(); ++i) all[i].part = &cuda_script().gpus[i];
    return all;
  }();
  return made;
}
inline thread_local CUcontext current = nullptr;

inline CUresult system_outcome(const char* function) { return outcome(cuda_script().system, function, CUDA_SUCCESS); }

// The start of every function that works in a context.
inline CUresult entered(const char* function) {
  if (current == nullptr || current->users == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (current->broken != CUDA_SUCCESS) return current->broken;
  return outcome(*current->part, function, CUDA_SUCCESS);
}

}  // namespace ridge::fake

#define EXPORT __attribute__((visibility("default")))
#define LOCK std::lock_guard lock(mutex())
#define ENTER(function) \
  LOCK;                 \
  if (CUresult code = entered(#function); code != CUDA_SUCCESS) return code
