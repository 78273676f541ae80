// gpu/cuda/nvrtc_abi.h against NVIDIA's nvrtc.h; it compiles, or they differ.
#include "gpu/cuda/nvrtc_abi.h"
#include "same_abi.h"

#include <nvrtc.h>

namespace ridge::gpu::cuda::nvrtc {
namespace {

RIDGE_NVRTC_FUNCTIONS(SAME_FUNCTION)
static_assert(int{kSuccess} == NVRTC_SUCCESS && int{kCompilation} == NVRTC_ERROR_COMPILATION);

}  // namespace
}  // namespace ridge::gpu::cuda::nvrtc
