// A fake of NVIDIA's run-time compiler: "machine code" is a line that names the chip, and the unchanged source; so is
// "PTX". fake_cuda.cc compiles and runs it. Loaded by RIDGE_NVRTC=<this file>.
#include <nvrtc.h>

#include <cstring>
#include <iterator>
#include <string>

struct _nvrtcProgram {
  std::string source, architecture;
};

namespace {

constexpr int kArchitectures[] = {75, 80, 86, 89, 90, 100, 120};

std::string result(nvrtcProgram program, const char* kind) {
  return kind + program->architecture + "\n" + program->source;
}

nvrtcResult give(const std::string& text, char* room) {
  std::memcpy(room, text.c_str(), text.size() + 1);
  return NVRTC_SUCCESS;
}

}  // namespace

extern "C" {

#define EXPORT __attribute__((visibility("default")))

EXPORT const char* nvrtcGetErrorString(nvrtcResult) { return "error of the fake for NVRTC"; }
EXPORT nvrtcResult nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, NVRTC_SUCCESS; }
EXPORT nvrtcResult nvrtcGetNumSupportedArchs(int* count) { return *count = std::size(kArchitectures), NVRTC_SUCCESS; }
EXPORT nvrtcResult nvrtcGetSupportedArchs(int* all) {
  return std::memcpy(all, kArchitectures, sizeof kArchitectures), NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char*, int, const char* const*,
                                      const char* const*) {
  *program = new _nvrtcProgram{source, ""};
  return NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  return delete *program, *program = nullptr, NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  const std::string wanted = "--gpu-architecture=sm_";
  for (int i = 0; i < count; ++i)
    if (std::string option = options[i]; option.starts_with(wanted))
      program->architecture = option.substr(wanted.size());
  return program->architecture.empty() ? NVRTC_ERROR_INVALID_OPTION : NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram, size_t* size) { return *size = 1, NVRTC_SUCCESS; }
EXPORT nvrtcResult nvrtcGetProgramLog(nvrtcProgram, char* log) { return *log = '\0', NVRTC_SUCCESS; }
EXPORT nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* size) {
  return *size = result(program, "sm_").size() + 1, NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* code) { return give(result(program, "sm_"), code); }
EXPORT nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* size) {
  return *size = result(program, "compute_").size() + 1, NVRTC_SUCCESS;
}
EXPORT nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* code) { return give(result(program, "compute_"), code); }

}  // extern "C"
