// A GPU's primary context: holds the memory, streams and kernels of one GPU. Kept while it is in use, shared with other
// libraries of the process (cuBLASLt, engines).
//
// Handle: copies share it. Any thread may use it; its objects (CudaMemory, …) are for one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "base/result.h"

namespace ridge::gpu::cuda {

struct Library;

class CudaContext {
 public:
  CudaContext() = default;  // empty: only for assignment
  // Creates the context of the driver's device `device` if there is none yet; takes up to a second then.
  static Result<CudaContext> retain(std::shared_ptr<const cuda::Library> library, int device);

  // Makes it the calling thread's: before any call to the driver, since another context may have been used meanwhile.
  Status use() const;
  const cuda::Library& library() const;
  int device() const;
  // The GPU's free memory, now; other processes count [bytes].
  Result<size_t> free_bytes() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

// One object of the driver, destroyed with its owner, in its context. Raw: a handle or an address. Move-only.
template <typename Raw>
class CudaHandle {
 public:
  using Destroy = int(Raw);
  CudaHandle() = default;
  CudaHandle(CudaContext context, Raw raw, Destroy* destroy)
      : context_(std::move(context)), raw_(raw), destroy_(destroy) {}
  CudaHandle(CudaHandle&& other) noexcept
      : context_(std::move(other.context_)), raw_(std::exchange(other.raw_, Raw{})), destroy_(other.destroy_) {}
  CudaHandle& operator=(CudaHandle&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(raw_, other.raw_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  ~CudaHandle() {
    // A lost GPU frees its memory by itself.
    if (raw_ != Raw{} && context_.use()) destroy_(raw_);
  }
  Raw get() const { return raw_; }
  Raw release() { return std::exchange(raw_, Raw{}); }  // the caller destroys it
  const CudaContext& context() const { return context_; }

 private:
  CudaContext context_;
  Raw raw_{};
  Destroy* destroy_ = nullptr;
};

}  // namespace ridge::gpu::cuda
