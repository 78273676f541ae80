// gpu/cuda/nvrtc_abi.h against NVIDIA's nvrtc.h; it compiles, or they differ.
#include "gpu/cuda/nvrtc_abi.h"
#include "same_abi.h"

#include <nvrtc.h>

namespace ridge::gpu::cuda::nvrtc {
namespace {

#define FUNCTION(name) static_assert(abi::SameFunction<decltype(Library::name)::Type, decltype(::name)>::value)
FUNCTION(nvrtcGetErrorString);
FUNCTION(nvrtcVersion);
FUNCTION(nvrtcGetNumSupportedArchs);
FUNCTION(nvrtcGetSupportedArchs);
FUNCTION(nvrtcCreateProgram);
FUNCTION(nvrtcDestroyProgram);
FUNCTION(nvrtcCompileProgram);
FUNCTION(nvrtcGetProgramLogSize);
FUNCTION(nvrtcGetProgramLog);
FUNCTION(nvrtcGetPTXSize);
FUNCTION(nvrtcGetPTX);
FUNCTION(nvrtcGetCUBINSize);
FUNCTION(nvrtcGetCUBIN);
#undef FUNCTION
static_assert(int{kSuccess} == NVRTC_SUCCESS && int{kCompilation} == NVRTC_ERROR_COMPILATION);

}  // namespace
}  // namespace ridge::gpu::cuda::nvrtc
