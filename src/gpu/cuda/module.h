// Machine code on a GPU: its kernels, their use of a multiprocessor, and the number of blocks that fit.
//
// Move-only. One thread at a time. Kernels are valid while their module lives.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/cuda/context.h"

namespace ridge::gpu::cuda {

class CudaKernel {
 public:
  Result<int> registers() const;  // per thread
  // Allows a launch that much dynamic shared memory per block; needed above 48 KiB.
  Status allow_dynamic_shared(size_t bytes);
  // Blocks of that size that a multiprocessor holds at the same time.
  Result<int> blocks_per_multiprocessor(int threads, size_t dynamic_shared_bytes = 0) const;

 private:
  friend class CudaModule;
  friend class CudaStream;
  CudaKernel(CudaContext context, void* function) : context_(std::move(context)), function_(function) {}
  CudaContext context_;
  void* function_;
};

class CudaModule {
 public:
  CudaModule() = default;  // without kernels
  // `image`: machine code (CUBIN), or PTX, which the driver compiles. kInvalid with the driver's log if that fails.
  static Result<CudaModule> load(const CudaContext& context, const std::string& image);
  // kNotFound: the module has no kernel of that name.
  Result<CudaKernel> kernel(const std::string& name) const;

 private:
  CudaHandle<void*> module_;
};

// The architecture to compile for if the compiler does not know the GPU's.
struct CudaTarget {
  int architecture = 0;  // 89: sm_89
  bool exact = true;     // else PTX, which the driver compiles for the GPU
};
// `known`: the compiler's architectures; `capability`: the GPU's, 89 for 8.9. Machine code if it is among the known,
// else PTX of the newest older one. Errors: the GPU is older than all of them (kUnsupported).
Result<CudaTarget> choose_target(const std::vector<int>& known, int capability);

}  // namespace ridge::gpu::cuda
