// A fake for NVIDIA's run-time compiler: "machine code" is a line that says for which chip, and the source as it came; so is
// "PTX". fake_cuda.cc compiles and runs it. Loaded by RIDGE_NVRTC=<this file>.
#include <cstring>
#include <string>

#include "gpu/cuda/nvrtc_abi.h"

using namespace ridge::gpu::cuda::nvrtc;

struct ridge::gpu::cuda::nvrtc::ProgramObject {
  std::string source, architecture;
};

namespace {

constexpr int kArchitectures[] = {75, 80, 86, 89, 90, 100, 120};
constexpr int kInvalidOption = 5;

std::string result(Program program, const char* kind) { return kind + program->architecture + "\n" + program->source; }

int give(const std::string& text, char* room) {
  std::memcpy(room, text.c_str(), text.size() + 1);
  return kSuccess;
}

}  // namespace

extern "C" {

#define EXPORT __attribute__((visibility("default")))

EXPORT const char* nvrtcGetErrorString(int) { return "error of the fake for NVRTC"; }
EXPORT int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, kSuccess; }
EXPORT int nvrtcGetNumSupportedArchs(int* count) { return *count = std::size(kArchitectures), kSuccess; }
EXPORT int nvrtcGetSupportedArchs(int* all) {
  return std::memcpy(all, kArchitectures, sizeof kArchitectures), kSuccess;
}
EXPORT int nvrtcCreateProgram(Program* program, const char* source, const char*, int, const char* const*,
                              const char* const*) {
  *program = new ridge::gpu::cuda::nvrtc::ProgramObject{source, ""};
  return kSuccess;
}
EXPORT int nvrtcDestroyProgram(Program* program) { return delete *program, *program = nullptr, kSuccess; }
EXPORT int nvrtcCompileProgram(Program program, int count, const char* const* options) {
  const std::string wanted = "--gpu-architecture=sm_";
  for (int i = 0; i < count; ++i)
    if (std::string option = options[i]; option.starts_with(wanted))
      program->architecture = option.substr(wanted.size());
  return program->architecture.empty() ? kInvalidOption : kSuccess;
}
EXPORT int nvrtcGetProgramLogSize(Program, size_t* size) { return *size = 1, kSuccess; }
EXPORT int nvrtcGetProgramLog(Program, char* log) { return *log = '\0', kSuccess; }
EXPORT int nvrtcGetCUBINSize(Program program, size_t* size) {
  return *size = result(program, "sm_").size() + 1, kSuccess;
}
EXPORT int nvrtcGetCUBIN(Program program, char* code) { return give(result(program, "sm_"), code); }
EXPORT int nvrtcGetPTXSize(Program program, size_t* size) {
  return *size = result(program, "compute_").size() + 1, kSuccess;
}
EXPORT int nvrtcGetPTX(Program program, char* code) { return give(result(program, "compute_"), code); }

}  // extern "C"

// As what ridge looks up, which tests/abi compares with NVIDIA's header.
#define SAME(name) \
  static_assert(std::is_same_v<decltype(::name), decltype(ridge::gpu::cuda::nvrtc::Library::name)::Type>)
SAME(nvrtcGetErrorString);
SAME(nvrtcVersion);
SAME(nvrtcGetNumSupportedArchs);
SAME(nvrtcGetSupportedArchs);
SAME(nvrtcCreateProgram);
SAME(nvrtcDestroyProgram);
SAME(nvrtcCompileProgram);
SAME(nvrtcGetProgramLogSize);
SAME(nvrtcGetProgramLog);
SAME(nvrtcGetCUBINSize);
SAME(nvrtcGetCUBIN);
SAME(nvrtcGetPTXSize);
SAME(nvrtcGetPTX);
#undef SAME
