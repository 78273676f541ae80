// The binary interface of NVIDIA's run-time compiler (NVRTC), as far as ridge uses it: our own declarations, so that
// the build needs no vendor header; tests/abi compares them with nvrtc.h. Source: NVRTC documentation,
// https://docs.nvidia.com/cuda/nvrtc/ (names, order of arguments, result codes).
#pragma once

#include <cstddef>

#include "gpu/library_function.h"

namespace ridge::gpu::cuda::nvrtc {

struct ProgramObject;
using Program = ProgramObject*;

constexpr int kSuccess = 0;      // nvrtcResult
constexpr int kCompilation = 6;  // the source is wrong: the log says where

// NEEDS(name, type): the functions to look up, all present since CUDA 11.2.
#define RIDGE_NVRTC_FUNCTIONS(NEEDS)                                                                              \
  NEEDS(nvrtcGetErrorString, const char*(int))                                                                    \
  NEEDS(nvrtcVersion, int(int*, int*))                                                                            \
  NEEDS(nvrtcGetNumSupportedArchs, int(int*))                                                                     \
  NEEDS(nvrtcGetSupportedArchs, int(int*))                                                                        \
  NEEDS(nvrtcCreateProgram,                                                                                       \
        int(Program*, const char* source, const char* name, int headers, const char* const*, const char* const*)) \
  NEEDS(nvrtcDestroyProgram, int(Program*))                                                                       \
  NEEDS(nvrtcCompileProgram, int(Program, int count, const char* const* options))                                 \
  NEEDS(nvrtcGetProgramLogSize, int(Program, size_t*))                                                            \
  NEEDS(nvrtcGetProgramLog, int(Program, char*))                                                                  \
  NEEDS(nvrtcGetPTXSize, int(Program, size_t*))                                                                   \
  NEEDS(nvrtcGetPTX, int(Program, char*))                                                                         \
  NEEDS(nvrtcGetCUBINSize, int(Program, size_t*))                                                                 \
  NEEDS(nvrtcGetCUBIN, int(Program, char*))

struct Library : FunctionTable {
  using FunctionTable::FunctionTable;
  RIDGE_NVRTC_FUNCTIONS(RIDGE_NEEDS)
};

}  // namespace ridge::gpu::cuda::nvrtc
