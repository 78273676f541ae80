// A place to run kernels on a GPU: a stream, numbered buffers, and the kernels of one program, as OpenClWorkspace is one.
//
// Move-only; all of it ends with the workspace. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/cuda/memory.h"
#include "gpu/cuda/module.h"
#include "gpu/cuda/nvrtc.h"
#include "gpu/cuda/stream.h"
#include "gpu/launch.h"

namespace ridge::gpu::cuda {

class CudaWorkspace {
 public:
  // `capability`: of the GPU, 89 for 8.9. `newest_cuda`: major number of the driver's CUDA.
  static Result<CudaWorkspace> open(const CudaContext& context, int capability, int newest_cuda);

  CudaWorkspace(CudaWorkspace&& other) noexcept;
  CudaWorkspace& operator=(CudaWorkspace&& other) noexcept;
  CudaWorkspace(const CudaWorkspace&) = delete;
  CudaWorkspace& operator=(const CudaWorkspace&) = delete;
  ~CudaWorkspace();

  // Adds a buffer with this content; of so many bytes with any content; of memory that was made elsewhere.
  Result<BufferNumber> add(std::span<const float> content);
  Result<BufferNumber> add_bytes(size_t size, CudaMemoryKind kind = CudaMemoryKind::kDevice);
  BufferNumber adopt(CudaMemory memory);
  Status write(BufferNumber buffer, std::span<const float> content);
  Status read(BufferNumber buffer, std::span<float> content) const;
  CudaMemory& memory(BufferNumber buffer);

  // Replaces the program: compiles CUDA source for the GPU by NVRTC (RIDGE_NVRTC), by way of PTX where NVRTC does not know
  // the GPU. A wrong source is kInvalid, with the compiler's log.
  Status build(const std::string& source, const std::vector<std::string>& options = {});
  Status load(const std::string& image);  // machine code or PTX
  Result<CudaKernel> kernel(const std::string& name) const;

  // Queues the launches, which run one after another, `repeats` times, and waits for all.
  Result<LaunchTime> run(std::span<const Launch> launches, int repeats = 1);
  // Queues them `repeats` times on a stream of this GPU, and does not wait.
  Status queue(const CudaStream& stream, std::span<const Launch> launches, int repeats = 1);

  const CudaStream& stream() const;  // that of `run`
  const CudaContext& context() const;

 private:
  struct State;
  explicit CudaWorkspace(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ridge::gpu::cuda
