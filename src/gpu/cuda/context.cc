#include "gpu/cuda/context.h"

#include "gpu/cuda/abi.h"
#include "gpu/cuda/error.h"

namespace ridge::gpu::cuda {

struct CudaContext::State {
  std::shared_ptr<const cuda::Library> library;
  cuda::Device device = 0;
  cuda::Handle context = nullptr;

  State(std::shared_ptr<const cuda::Library> opened, cuda::Device of) : library(std::move(opened)), device(of) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (context == nullptr) return;
    if (library->cuDevicePrimaryCtxRelease_v2)
      library->cuDevicePrimaryCtxRelease_v2(device);
    else if (library->cuDevicePrimaryCtxRelease)
      library->cuDevicePrimaryCtxRelease(device);
  }
};

Result<CudaContext> CudaContext::retain(std::shared_ptr<const cuda::Library> library, int device) {
  auto state = std::make_shared<State>(std::move(library), device);
  const cuda::Library& driver = *state->library;
  RIDGE_TRY(cuda_status(driver, "cuDevicePrimaryCtxRetain", driver.cuDevicePrimaryCtxRetain(&state->context, device)));
  CudaContext context;
  context.state_ = std::move(state);
  return context;
}

namespace {

// ONNX Runtime captures its graphs in the global mode: a call of another thread that the driver deems unsafe
// (allocating, waiting) is refused meanwhile and breaks the capture, unless that thread has declared itself relaxed
// (CUDA Driver API, cuThreadExchangeStreamCaptureMode). Ours may: none of them touches a stream that another captures.
Status relax_once_per_thread(const cuda::Library& library) {
  thread_local bool relaxed = false;
  if (relaxed) return {};
  int mode = cuda::kCaptureRelaxed;
  RIDGE_TRY(
      cuda_status(library, "cuThreadExchangeStreamCaptureMode", library.cuThreadExchangeStreamCaptureMode(&mode)));
  relaxed = true;
  return {};
}

}  // namespace

Status CudaContext::use() const {
  RIDGE_TRY(relax_once_per_thread(*state_->library));
  return cuda_status(*state_->library, "cuCtxSetCurrent", state_->library->cuCtxSetCurrent(state_->context));
}

const cuda::Library& CudaContext::library() const { return *state_->library; }
int CudaContext::device() const { return state_->device; }

Result<size_t> CudaContext::free_bytes() const {
  RIDGE_TRY(use());
  size_t free = 0, total = 0;
  RIDGE_TRY(cuda_status(library(), "cuMemGetInfo_v2", library().cuMemGetInfo_v2(&free, &total)));
  return free;
}

}  // namespace ridge::gpu::cuda
