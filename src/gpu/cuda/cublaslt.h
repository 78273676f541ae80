// NVIDIA's library of matrix multiplications (cuBLASLt), opened at run time: the best rate of the vendor's own kernels
// on a GPU.
//
// Handle: copies share the open library. A CublasLtGemm is move-only and used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "gpu/cuda/context.h"
#include "gpu/cuda/memory.h"
#include "gpu/cuda/stream.h"
#include "gpu/gemm.h"

namespace ridge::gpu::cuda {

namespace cublaslt {
struct Library;
}

// One prepared multiplication, which can be queued repeatedly.
class CublasLtGemm {
 public:
  CublasLtGemm(CublasLtGemm&& other) noexcept;
  CublasLtGemm& operator=(CublasLtGemm&& other) noexcept;
  CublasLtGemm(const CublasLtGemm&) = delete;
  CublasLtGemm& operator=(const CublasLtGemm&) = delete;
  ~CublasLtGemm();

  // Queues d = a · b. The memories are on the stream's GPU, hold bytes(), and live until the stream has passed it.
  Status queue(const CudaStream& stream, const CudaMemory& a, const CudaMemory& b, CudaMemory& d) const;
  // Tries every candidate of the library's heuristic `repeats` times and keeps the fastest; returns its time [s] of one
  // product. Waits for the stream.
  Result<double> keep_fastest(const CudaStream& stream, const CudaMemory& a, const CudaMemory& b, CudaMemory& d,
                              int repeats);
  size_t candidates() const;
  size_t chosen() const;  // of the candidates; 0: the heuristic's first

 private:
  friend class CublasLt;
  struct State;
  explicit CublasLtGemm(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class CublasLt {
 public:
  // `library`: a path; empty: the environment variable RIDGE_CUBLASLT, else libcublasLt of CUDA 13, 12 or 11 by the
  // loader's search, then in python's packages (nvidia-cublas), none newer than `newest`. The error says whether there
  // is none (kNotFound), it is too old (kUnsupported), or it does not start on this GPU.
  static Result<CublasLt> open(const CudaContext& context, const std::string& library = "", int newest = 1000);

  std::string version() const;  // "13.4.1"
  // `workspace_bytes`: on the GPU, for the library's own use. kUnsupported: the library has no such multiplication for
  // this GPU.
  Result<CublasLtGemm> plan(const GemmProblem& problem, size_t workspace_bytes = size_t{32} << 20) const;

 private:
  friend class CublasLtGemm;
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace ridge::gpu::cuda
