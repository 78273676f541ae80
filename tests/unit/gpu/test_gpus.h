// For tests on the fakes of NVIDIA's driver, compiler and matrix multiplications (tests/support).
#pragma once

#include <cstdlib>
#include <string>

#include "base/dynlib.h"

namespace ridge::gpu {

inline std::string test_support(const std::string& file) { return std::string(RIDGE_TEST_SUPPORT) + "/" + file; }

// Makes this process use the fakes, with the GPUs of the script tests/support/cuda/<script>.txt. They read it once.
inline void play_gpus(const char* script) {
  setenv("RIDGE_CUDA", test_support("libcuda.so.1").c_str(), 1);
  setenv("RIDGE_NVRTC", test_support("libnvrtc.so.1").c_str(), 1);
  setenv("RIDGE_CUBLASLT", test_support("libcublasLt.so.1").c_str(), 1);
  setenv("RIDGE_FAKE_CUDA", (std::string(RIDGE_SOURCE_DIR) + "/tests/support/cuda/" + script + ".txt").c_str(), 1);
}

// Counts the fake driver's live contexts, memory, streams, events, modules and graphs.
inline size_t objects_alive() {
  auto library = DynamicLibrary::open(test_support("libcuda.so.1"));
  return (*library->symbol<size_t()>("fakeCudaObjects").value())();
}

}  // namespace ridge::gpu
