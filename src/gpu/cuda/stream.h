// What is queued on a GPU: a stream runs in order, several beside each other; events say when; graphs are queued whole.
//
// Everything here only queues; `synchronize` waits, and reports what went wrong meanwhile. Memory that is handed in must live
// until then. Move-only. One thread at a time; one capture at a time per thread.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "base/result.h"
#include "gpu/cuda/context.h"
#include "gpu/cuda/memory.h"
#include "gpu/cuda/module.h"
#include "gpu/launch.h"

namespace ridge::gpu::cuda {

// A point in a stream, with its time.
class CudaEvent {
 public:
  static Result<CudaEvent> create(const CudaContext& context);
  Status synchronize() const;  // waits until the stream has come to it
  // From `begin` to this, both recorded and passed; to about half a microsecond.
  Result<double> seconds_since(const CudaEvent& begin) const;

 private:
  friend class CudaStream;
  CudaHandle<void*> event_;
};

// Work made ready as a whole.
class CudaGraph {
 private:
  friend class CudaStream;
  CudaHandle<void*> executable_;
};

class CudaStream {
 public:
  // It does not wait for the default stream.
  static Result<CudaStream> create(const CudaContext& context);

  Status synchronize() const;
  Result<bool> passed() const;  // whether all that was queued has ended; waits for nothing
  Status record(const CudaEvent& event) const;
  Status wait(const CudaEvent& event) const;  // before what is queued next

  // Copies from and to the CPU's memory. From pinned memory they run beside other work; from other memory the
  // driver may copy before the call returns.
  Status write(CudaMemory& to, std::span<const std::byte> from, size_t at = 0) const;
  Status read(std::span<std::byte> to, const CudaMemory& from, size_t at = 0) const;
  Status copy(CudaMemory& to, const CudaMemory& from, size_t bytes, size_t at = 0) const;  // on the GPU; `at` of both
  Status fill(CudaMemory& memory, std::byte value) const;

  // `arguments`: pointers to the values, as the kernel declares them; read before the call returns.
  Status launch(const CudaKernel& kernel, Extent blocks, Extent threads, std::span<void*> arguments,
                size_t dynamic_shared_bytes = 0) const;
  // What `queue` queues on this stream becomes a graph instead of being run.
  Result<CudaGraph> capture(const std::function<Status()>& queue) const;
  Status launch(const CudaGraph& graph) const;

  // Memory of the GPU's default pool, in this stream's order: cheap where a former allocation has been given back. kUnsupported:
  // the driver or the GPU has no pools. Memory that is not released must no longer be in use when it ends.
  Result<CudaMemory> allocate(size_t bytes) const;
  Status release(CudaMemory memory) const;  // of what was allocated here
  // Moves managed memory to the GPU, or back. kUnsupported: not on this GPU.
  Status prefetch(const CudaMemory& memory, bool to_gpu) const;

  void* handle() const { return stream_.get(); }  // for other libraries
  const CudaContext& context() const { return stream_.context(); }

 private:
  Status check(const char* function, int code) const;
  CudaHandle<void*> stream_;
};

// How many bytes the GPU's default pool keeps for later when they are given back; nothing unless this was called.
Status keep_in_pool(const CudaContext& context, size_t bytes);

}  // namespace ridge::gpu::cuda
