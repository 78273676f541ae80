#include "gpu/cuda/stream.h"

#include <fmt/format.h>

#include <cassert>

#include "gpu/cuda/abi.h"
#include "gpu/cuda/error.h"

namespace ridge::gpu::cuda {
namespace {

// The error of a function that this driver lacks.
Error lacks(const char* function, const char* since) {
  return {Code::kUnsupported,
          fmt::format("the driver has no {}, which came with CUDA {}; update the driver", function, since)};
}

}  // namespace

Result<CudaEvent> CudaEvent::create(const CudaContext& context, EventWait wait) {
  RIDGE_TRY(context.use());
  const cuda::Library& library = context.library();
  void* handle = nullptr;
  RIDGE_TRY(cuda_status(library, "cuEventCreate",
                        library.cuEventCreate(&handle, wait == EventWait::kSleeps ? cuda::kBlockingSync : 0)));
  CudaEvent event;
  event.event_ = CudaHandle<void*>(context, handle, library.cuEventDestroy_v2);
  return event;
}

Status CudaEvent::synchronize() const {
  RIDGE_TRY(event_.context().use());
  const cuda::Library& library = event_.context().library();
  return cuda_status(library, "cuEventSynchronize", library.cuEventSynchronize(event_.get()));
}

Result<double> CudaEvent::seconds_since(const CudaEvent& begin) const {
  RIDGE_TRY(event_.context().use());
  const cuda::Library& library = event_.context().library();
  float milliseconds = 0;
  RIDGE_TRY(cuda_status(library, "cuEventElapsedTime",
                        library.cuEventElapsedTime(&milliseconds, begin.event_.get(), event_.get())));
  return 1e-3 * static_cast<double>(milliseconds);
}

Status CudaStream::check(const char* function, int code) const {
  return cuda_status(context().library(), function, code);
}

Result<CudaStream> CudaStream::create(const CudaContext& context) {
  RIDGE_TRY(context.use());
  const cuda::Library& library = context.library();
  void* handle = nullptr;
  RIDGE_TRY(cuda_status(library, "cuStreamCreate", library.cuStreamCreate(&handle, cuda::kNonBlocking)));
  CudaStream stream;
  stream.stream_ = CudaHandle<void*>(context, handle, library.cuStreamDestroy_v2);
  return stream;
}

Status CudaStream::synchronize() const {
  RIDGE_TRY(context().use());
  return check("cuStreamSynchronize", context().library().cuStreamSynchronize(handle()));
}

Result<bool> CudaStream::passed() const {
  RIDGE_TRY(context().use());
  const int code = context().library().cuStreamQuery(handle());
  if (code == cuda::kNotReady) return false;
  RIDGE_TRY(check("cuStreamQuery", code));
  return true;
}

Status CudaStream::record(const CudaEvent& event) const {
  RIDGE_TRY(context().use());
  return check("cuEventRecord", context().library().cuEventRecord(event.event_.get(), handle()));
}

Status CudaStream::wait(const CudaEvent& event) const {
  RIDGE_TRY(context().use());
  return check("cuStreamWaitEvent", context().library().cuStreamWaitEvent(handle(), event.event_.get(), 0));
}

Status CudaStream::write(CudaMemory& to, std::span<const std::byte> from, size_t at) const {
  assert(at + from.size() <= to.size());
  RIDGE_TRY(context().use());
  return check("cuMemcpyHtoDAsync_v2",
               context().library().cuMemcpyHtoDAsync_v2(to.address() + at, from.data(), from.size(), handle()));
}

Status CudaStream::read(std::span<std::byte> to, const CudaMemory& from, size_t at) const {
  assert(at + to.size() <= from.size());
  RIDGE_TRY(context().use());
  return check("cuMemcpyDtoHAsync_v2",
               context().library().cuMemcpyDtoHAsync_v2(to.data(), from.address() + at, to.size(), handle()));
}

Status CudaStream::copy(CudaMemory& to, const CudaMemory& from, size_t bytes, size_t at) const {
  assert(at + bytes <= to.size() && at + bytes <= from.size());
  RIDGE_TRY(context().use());
  return check("cuMemcpyDtoDAsync_v2",
               context().library().cuMemcpyDtoDAsync_v2(to.address() + at, from.address() + at, bytes, handle()));
}

Status CudaStream::fill(CudaMemory& memory, std::byte value) const {
  RIDGE_TRY(context().use());
  return check("cuMemsetD8Async", context().library().cuMemsetD8Async(
                                      memory.address(), static_cast<unsigned char>(value), memory.size(), handle()));
}

Status CudaStream::launch(const CudaKernel& kernel, Extent blocks, Extent threads, std::span<void*> arguments,
                          size_t dynamic_shared_bytes) const {
  RIDGE_TRY(context().use());
  auto narrow = [](size_t value) { return static_cast<unsigned>(value); };
  return check("cuLaunchKernel", context().library().cuLaunchKernel(
                                     kernel.function_, narrow(blocks.x), narrow(blocks.y), narrow(blocks.z),
                                     narrow(threads.x), narrow(threads.y), narrow(threads.z),
                                     narrow(dynamic_shared_bytes), handle(), arguments.data(), nullptr));
}

Result<CudaGraph> CudaStream::capture(const std::function<Status()>& queue) const {
  RIDGE_TRY(context().use());
  const cuda::Library& library = context().library();
  if (!library.cuGraphInstantiateWithFlags && !library.cuGraphInstantiate_v2)
    return lacks("cuGraphInstantiate_v2", "11.0");
  RIDGE_TRY(check("cuStreamBeginCapture_v2", library.cuStreamBeginCapture_v2(handle(), cuda::kCaptureThreadLocal)));
  Status queued = queue();
  void* raw = nullptr;
  Status ended = check("cuStreamEndCapture", library.cuStreamEndCapture(handle(), &raw));
  CudaHandle<void*> captured(context(), raw, library.cuGraphDestroy);
  if (!queued) return queued.error();
  if (!ended) return ended.error();
  void* executable = nullptr;
  if (library.cuGraphInstantiateWithFlags)
    RIDGE_TRY(check("cuGraphInstantiateWithFlags", library.cuGraphInstantiateWithFlags(&executable, raw, 0)));
  else
    RIDGE_TRY(check("cuGraphInstantiate_v2", library.cuGraphInstantiate_v2(&executable, raw, nullptr, nullptr, 0)));
  CudaGraph graph;
  graph.executable_ = CudaHandle<void*>(context(), executable, library.cuGraphExecDestroy);
  return graph;
}

Status CudaStream::launch(const CudaGraph& graph) const {
  RIDGE_TRY(context().use());
  return check("cuGraphLaunch", context().library().cuGraphLaunch(graph.executable_.get(), handle()));
}

Result<CudaMemory> CudaStream::allocate(size_t bytes) const {
  RIDGE_TRY(context().use());
  const cuda::Library& library = context().library();
  if (!library.cuMemAllocAsync || !library.cuMemFreeAsync) return lacks("cuMemAllocAsync", "11.2");
  CudaMemory memory;
  memory.size_ = bytes;
  Status allocated = check("cuMemAllocAsync", library.cuMemAllocAsync(&memory.address_, bytes, handle()));
  if (!allocated) return wrap(allocated.error(), fmt::format("{} bytes of the pool", bytes));
  // Without a release it is freed at once.
  memory.on_device_ = CudaHandle<uint64_t>(context(), memory.address_, library.cuMemFree_v2);
  return memory;
}

Status CudaStream::release(CudaMemory memory) const {
  RIDGE_TRY(context().use());
  const cuda::Library& library = context().library();
  if (!library.cuMemFreeAsync) return lacks("cuMemFreeAsync", "11.2");
  const uint64_t address = memory.on_device_.release();
  return check("cuMemFreeAsync", library.cuMemFreeAsync(address, handle()));
}

Status CudaStream::prefetch(const CudaMemory& memory, bool to_gpu) const {
  RIDGE_TRY(context().use());
  const cuda::Library& library = context().library();
  const int device = context().device();
  if (library.cuMemPrefetchAsync_v2) {
    cuda::MemoryLocation where{to_gpu ? cuda::kLocationDevice : cuda::kLocationHost, to_gpu ? device : 0};
    return check("cuMemPrefetchAsync_v2",
                 library.cuMemPrefetchAsync_v2(memory.address(), memory.size(), where, 0, handle()));
  }
  if (!library.cuMemPrefetchAsync) return lacks("cuMemPrefetchAsync", "8.0");
  return check("cuMemPrefetchAsync",
               library.cuMemPrefetchAsync(memory.address(), memory.size(), to_gpu ? device : cuda::kCpu, handle()));
}

Status keep_in_pool(const CudaContext& context, size_t bytes) {
  RIDGE_TRY(context.use());
  const cuda::Library& library = context.library();
  if (!library.cuDeviceGetDefaultMemPool || !library.cuMemPoolSetAttribute)
    return lacks("cuDeviceGetDefaultMemPool", "11.2");
  void* pool = nullptr;
  RIDGE_TRY(
      cuda_status(library, "cuDeviceGetDefaultMemPool", library.cuDeviceGetDefaultMemPool(&pool, context.device())));
  uint64_t kept = bytes;
  return cuda_status(library, "cuMemPoolSetAttribute",
                     library.cuMemPoolSetAttribute(pool, cuda::kReleaseThreshold, &kept));
}

}  // namespace ridge::gpu::cuda
