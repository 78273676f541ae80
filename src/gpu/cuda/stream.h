// Work queued on a GPU: a stream runs in order, several in parallel; events mark points in time; graphs are whole.
//
// Everything here only queues; `synchronize` waits, and reports errors. Memory passed in must live until then.
// Move-only. One thread at a time; one capture at a time per thread.
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

// How synchronize() waits: with a core of its own, or asleep, which returns 10 to 20 µs later.
enum class EventWait { kSpins, kSleeps };

// A point in a stream, with its time.
class CudaEvent {
 public:
  static Result<CudaEvent> create(const CudaContext& context, EventWait wait = EventWait::kSpins);
  Status synchronize() const;  // waits until the stream has reached it
  // Time from `begin` to this event, both recorded and reached; to about half a microsecond.
  Result<double> seconds_since(const CudaEvent& begin) const;

 private:
  friend class CudaStream;
  CudaHandle<void*> event_;
};

// Work prepared as a whole.
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
  Result<bool> passed() const;  // whether all queued work has ended; does not wait
  Status record(const CudaEvent& event) const;
  Status wait(const CudaEvent& event) const;  // before subsequently queued work

  // Copies from and to the CPU's memory. From pinned memory they overlap other work; from other memory the driver may
  // copy before the call returns.
  Status write(CudaMemory& to, std::span<const std::byte> from, size_t at = 0) const;
  Status read(std::span<std::byte> to, const CudaMemory& from, size_t at = 0) const;
  Status copy(CudaMemory& to, const CudaMemory& from, size_t bytes, size_t at = 0) const;  // on the GPU; `at` of both
  Status fill(CudaMemory& memory, std::byte value) const;

  // `arguments`: pointers to the values, as the kernel declares them; read before the call returns.
  Status launch(const CudaKernel& kernel, Extent blocks, Extent threads, std::span<void*> arguments,
                size_t dynamic_shared_bytes = 0) const;
  // Records what `queue` queues on this stream as a graph instead of running it.
  Result<CudaGraph> capture(const std::function<Status()>& queue) const;
  Status launch(const CudaGraph& graph) const;

  // Memory of the GPU's default pool, in this stream's order: cheap after an earlier release. kUnsupported: the driver
  // or the GPU has no pools. Unreleased memory must no longer be in use at its end.
  Result<CudaMemory> allocate(size_t bytes) const;
  Status release(CudaMemory memory) const;  // of an allocation made here
  // Moves managed memory to the GPU, or back. kUnsupported: not on this GPU.
  Status prefetch(const CudaMemory& memory, bool to_gpu) const;

  void* handle() const { return stream_.get(); }  // for other libraries
  const CudaContext& context() const { return stream_.context(); }

 private:
  Status check(const char* function, int code) const;
  CudaHandle<void*> stream_;
};

// Bytes that the GPU's default pool retains after release; 0 unless this was called.
Status keep_in_pool(const CudaContext& context, size_t bytes);

}  // namespace ridge::gpu::cuda
