// Machine code on a GPU: its kernels, what each of them takes of a multiprocessor, and how many blocks fit.
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
  // Lets a launch ask for so much dynamic shared memory per block; needed above 48 KiB.
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
  // `image`: machine code (CUBIN), or PTX, which the driver compiles. kInvalid with the driver's log where that fails.
  static Result<CudaModule> load(const CudaContext& context, const std::string& image);
  // kNotFound: the module has no kernel of that name.
  Result<CudaKernel> kernel(const std::string& name) const;

 private:
  CudaHandle<void*> module_;
};

// For which architecture to compile where the GPU is of another one than the compiler knows.
struct CudaTarget {
  int architecture = 0;  // 89: sm_89
  bool exact = true;     // else PTX, which the driver compiles for the GPU
};
// `known`: what the compiler compiles for; `capability`: the GPU's, 89 for 8.9. Machine code where it is among the known,
// else PTX of the newest that is older. Errors: the GPU is older than all that the compiler knows (kUnsupported).
Result<CudaTarget> choose_target(const std::vector<int>& known, int capability);

}  // namespace ridge::gpu::cuda
