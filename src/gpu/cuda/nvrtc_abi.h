// The binary interface of NVIDIA's run-time compiler (NVRTC), as far as ridge calls it: our own declarations, so that no
// vendor header is needed to build.
// Source: NVRTC documentation, https://docs.nvidia.com/cuda/nvrtc/ (names, order of arguments, result codes).
#pragma once

#include <cstddef>

#include "gpu/library_function.h"

namespace ridge::gpu::cuda::nvrtc {

struct ProgramObject;
using Program = ProgramObject*;

constexpr int kSuccess = 0;      // nvrtcResult
constexpr int kCompilation = 6;  // the source is wrong: the log says where

// All of these are there since CUDA 11.2.
struct Library : FunctionTable {
  using FunctionTable::FunctionTable;

  Function<const char*(int)> nvrtcGetErrorString{file, "nvrtcGetErrorString", complete};
  Function<int(int*, int*)> nvrtcVersion{file, "nvrtcVersion", complete};
  Function<int(int*)> nvrtcGetNumSupportedArchs{file, "nvrtcGetNumSupportedArchs", complete};
  Function<int(int*)> nvrtcGetSupportedArchs{file, "nvrtcGetSupportedArchs", complete};
  Function<int(Program*, const char* source, const char* name, int headers, const char* const*, const char* const*)>
      nvrtcCreateProgram{file, "nvrtcCreateProgram", complete};
  Function<int(Program*)> nvrtcDestroyProgram{file, "nvrtcDestroyProgram", complete};
  Function<int(Program, int count, const char* const* options)> nvrtcCompileProgram{file, "nvrtcCompileProgram",
                                                                                    complete};
  Function<int(Program, size_t*)> nvrtcGetProgramLogSize{file, "nvrtcGetProgramLogSize", complete};
  Function<int(Program, char*)> nvrtcGetProgramLog{file, "nvrtcGetProgramLog", complete};
  Function<int(Program, size_t*)> nvrtcGetPTXSize{file, "nvrtcGetPTXSize", complete};
  Function<int(Program, char*)> nvrtcGetPTX{file, "nvrtcGetPTX", complete};
  Function<int(Program, size_t*)> nvrtcGetCUBINSize{file, "nvrtcGetCUBINSize", complete};
  Function<int(Program, char*)> nvrtcGetCUBIN{file, "nvrtcGetCUBIN", complete};
};

}  // namespace ridge::gpu::cuda::nvrtc
