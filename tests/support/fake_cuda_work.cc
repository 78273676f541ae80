// The other half of fake_cuda.cc: memory, streams, events and graphs.
#include <algorithm>

#include "fake_cuda_state.h"

using namespace ridge;
using namespace ridge::gpu::cuda;
using namespace ridge::fake;

namespace {

void* pointer(Address address) { return reinterpret_cast<void*>(address); }

// Queues work on a stream; where that cannot be, the code.
int queue_on(Handle handle, Operation operation) {
  Stream* stream = known(current->streams, handle);
  if (stream == nullptr) return kInvalidHandle;
  stream->add(std::move(operation));
  return kSuccess;
}

// What waits for a stream is forbidden while it is captured, and breaks the capture.
int wait_for(Stream& stream, const Mark* until = nullptr) {
  if (stream.captured_by != nullptr) {
    stream.capture_broken = true;
    return kCaptureUnsupported;
  }
  int code = current->drain(stream, until);
  // It waits for other GPUs, as long as they come nearer.
  for (size_t left = stream.queue.size() + 1; code == kNotReady && stream.queue.size() < left;) {
    left = stream.queue.size();
    for (Gpu& this_gpu : gpus()) this_gpu.drain_all();
    code = current->drain(stream, until);
  }
  return code == kNotReady ? int{kLaunchTimeout} : code;
}

// A copy whose source is read when its turn comes.
int copy_later(Handle stream, void* to, const void* from, size_t bytes) {
  return queue_on(stream, [=] { return std::memcpy(to, from, bytes), int{kSuccess}; });
}

bool any_captured() {
  return std::any_of(current->streams.begin(), current->streams.end(),
                     [](const auto& stream) { return stream->captured_by != nullptr; });
}

// Values of a kernel's arguments, as they are now.
std::vector<uint64_t> values_of(const Kernel& kernel, void** arguments) {
  std::vector<uint64_t> values(kernel.parameters.size());
  for (size_t i = 0; i < values.size(); ++i) std::memcpy(&values[i], arguments[i], kernel.parameters[i].size);
  return values;
}

}  // namespace

extern "C" {

EXPORT int cuMemGetInfo_v2(size_t* free, size_t* total) {
  ENTER(cuMemGetInfo_v2);
  *total = number_of(*current->part, "memory_total_bytes");
  *free = *total - current->used_bytes;
  return kSuccess;
}
EXPORT int cuMemAlloc_v2(Address* address, size_t bytes) {
  ENTER(cuMemAlloc_v2);
  return current->allocate(bytes, Place::kGpu, address);
}
EXPORT int cuMemAllocManaged(Address* address, size_t bytes, unsigned) {
  ENTER(cuMemAllocManaged);
  if (number_of(*current->part, "managed_memory") == 0) return kNotSupported;
  return current->allocate(bytes, Place::kManaged, address);
}
EXPORT int cuMemFree_v2(Address address) {
  ENTER(cuMemFree_v2);
  current->drain_all();
  return current->release(address, false);
}
EXPORT int cuMemHostAlloc(void** host, size_t bytes, unsigned) {
  ENTER(cuMemHostAlloc);
  Address address = 0;
  int code = current->allocate(bytes, Place::kPinned, &address);
  *host = pointer(address);
  return code;
}
EXPORT int cuMemFreeHost(void* host) {
  ENTER(cuMemFreeHost);
  current->drain_all();
  return current->release(reinterpret_cast<Address>(host), true);
}
EXPORT int cuMemHostGetDevicePointer_v2(Address* address, void* host, unsigned) {
  ENTER(cuMemHostGetDevicePointer_v2);
  *address = reinterpret_cast<Address>(host);
  return current->pinned(host) ? kSuccess : kInvalidValue;
}

// These belong to the default stream, and other streams' work does not wait for it, nor it for theirs. From memory that is not
// pinned the first may return before the GPU has the content.
EXPORT int cuMemcpyHtoD_v2(Address to, const void* from, size_t bytes) {
  ENTER(cuMemcpyHtoD_v2);
  if (any_captured()) return kCaptureImplicit;
  if (!current->holds(to, bytes)) return kInvalidValue;
  auto now = std::make_shared<std::string>(static_cast<const char*>(from), bytes);
  current->standard.add([=] { return std::memcpy(pointer(to), now->data(), bytes), int{kSuccess}; });
  return current->pinned(from) ? current->drain(current->standard) : int{kSuccess};
}
EXPORT int cuMemcpyDtoH_v2(void* to, Address from, size_t bytes) {
  ENTER(cuMemcpyDtoH_v2);
  if (any_captured()) return kCaptureImplicit;
  if (!current->holds(from, bytes)) return kInvalidValue;
  if (int code = current->drain(current->standard); code != kSuccess) return code;
  std::memcpy(to, pointer(from), bytes);
  return kSuccess;
}
EXPORT int cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, Handle stream) {
  ENTER(cuMemcpyHtoDAsync_v2);
  if (!current->holds(to, bytes)) return kInvalidValue;
  if (current->pinned(from)) return copy_later(stream, pointer(to), from, bytes);
  // From other memory the driver has copied when the call returns.
  auto now = std::make_shared<std::string>(static_cast<const char*>(from), bytes);
  return queue_on(stream, [=] { return std::memcpy(pointer(to), now->data(), bytes), int{kSuccess}; });
}
EXPORT int cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, Handle stream) {
  ENTER(cuMemcpyDtoHAsync_v2);
  if (!current->holds(from, bytes)) return kInvalidValue;
  return copy_later(stream, to, pointer(from), bytes);
}
EXPORT int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Handle stream) {
  ENTER(cuMemcpyDtoDAsync_v2);
  if (!current->holds(from, bytes) || !current->holds(to, bytes)) return kInvalidValue;
  return copy_later(stream, pointer(to), pointer(from), bytes);
}
EXPORT int cuMemsetD8Async(Address to, unsigned char value, size_t bytes, Handle stream) {
  ENTER(cuMemsetD8Async);
  if (!current->holds(to, bytes)) return kInvalidValue;
  return queue_on(stream, [=] { return std::memset(pointer(to), value, bytes), int{kSuccess}; });
}

EXPORT int cuStreamCreate(Handle* stream, unsigned) {
  ENTER(cuStreamCreate);
  *stream = keep(current->streams, Stream{current, {}});
  return kSuccess;
}
EXPORT int cuStreamDestroy_v2(Handle handle) {
  ENTER(cuStreamDestroy_v2);
  Stream* stream = known(current->streams, handle);
  if (stream == nullptr) return kInvalidHandle;
  current->drain(*stream);
  for (const auto& event : current->events)
    if (event->stream == stream) event->stream = nullptr;
  forget(current->streams, handle);
  return kSuccess;
}
EXPORT int cuStreamSynchronize(Handle handle) {
  ENTER(cuStreamSynchronize);
  Stream* stream = handle == nullptr ? &current->standard : known(current->streams, handle);
  return stream == nullptr ? int{kInvalidHandle} : wait_for(*stream);
}
// Every question brings the work on by a step.
EXPORT int cuStreamQuery(Handle handle) {
  ENTER(cuStreamQuery);
  Stream* stream = known(current->streams, handle);
  if (stream == nullptr) return kInvalidHandle;
  if (!stream->queue.empty()) current->step(*stream);
  if (current->broken != 0) return current->broken;
  return stream->queue.empty() ? kSuccess : kNotReady;
}
EXPORT int cuStreamWaitEvent(Handle handle, Handle event_handle, unsigned) {
  ENTER(cuStreamWaitEvent);
  Stream* stream = known(current->streams, handle);
  Event* event = known(current->events, event_handle);
  if (stream == nullptr || event == nullptr) return kInvalidHandle;
  if (event->captured_by != nullptr)
    return stream->captured_by = event->captured_by, int{kSuccess};  // joins the capture
  if (event->mark == nullptr) return kSuccess;                       // never recorded: nothing to wait for
  stream->add([this_gpu = current, from = event->stream, mark = event->mark] {
    return from == nullptr || mark->passed ? int{kSuccess} : this_gpu->drain(*from, mark.get());
  });
  return kSuccess;
}

EXPORT int cuEventCreate(Handle* event, unsigned) {
  ENTER(cuEventCreate);
  Event made;
  made.gpu = current;
  *event = keep(current->events, std::move(made));
  return kSuccess;
}
EXPORT int cuEventDestroy_v2(Handle event) {
  ENTER(cuEventDestroy_v2);
  return forget(current->events, event) ? kSuccess : kInvalidHandle;
}
EXPORT int cuEventRecord(Handle handle, Handle stream_handle) {
  ENTER(cuEventRecord);
  Event* event = known(current->events, handle);
  Stream* stream = known(current->streams, stream_handle);
  if (event == nullptr || stream == nullptr) return kInvalidHandle;
  event->captured_by = stream->captured_by;
  event->stream = stream;
  event->mark = std::make_shared<Mark>();
  if (event->captured_by != nullptr) return kSuccess;
  stream->add([mark = event->mark] {
    mark->time = std::chrono::steady_clock::now();
    mark->passed = true;
    return int{kSuccess};
  });
  return kSuccess;
}
EXPORT int cuEventSynchronize(Handle handle) {
  ENTER(cuEventSynchronize);
  Event* event = known(current->events, handle);
  if (event == nullptr) return kInvalidHandle;
  if (event->mark == nullptr || event->mark->passed || event->stream == nullptr) return kSuccess;
  return wait_for(*event->stream, event->mark.get());
}
EXPORT int cuEventElapsedTime(float* milliseconds, Handle begin_handle, Handle end_handle) {
  ENTER(cuEventElapsedTime);
  Event *begin = known(current->events, begin_handle), *end = known(current->events, end_handle);
  if (begin == nullptr || end == nullptr || begin->mark == nullptr || end->mark == nullptr) return kInvalidHandle;
  if (!begin->mark->passed || !end->mark->passed) return kNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(end->mark->time - begin->mark->time).count();
  return kSuccess;
}

EXPORT int cuLaunchKernel(Handle function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads_x,
                          unsigned threads_y, unsigned threads_z, unsigned shared, Handle stream, void** arguments,
                          void**) {
  ENTER(cuLaunchKernel);
  Kernel& kernel = *static_cast<Function*>(function)->kernel;
  const size_t threads = size_t{threads_x} * threads_y * threads_z;
  if (threads == 0 || threads > number_of(*current->part, "threads_per_block")) return kInvalidValue;
  if (size_t{blocks_x} * blocks_y * blocks_z == 0 || blocks_y > 65535 || blocks_z > 65535) return kInvalidValue;
  if (static_cast<int>(shared) > kernel.dynamic_shared_allowed) return kInvalidValue;
  return queue_on(stream, [=, this_gpu = current, &kernel, values = values_of(kernel, arguments)] {
    if (int code = this_gpu->next_launch(); code != kSuccess) return code;
    bool ran = cpu().run(kernel, {blocks_x, blocks_y, blocks_z}, {threads_x, threads_y, threads_z}, values,
                         [this_gpu](Address address) { return this_gpu->range_of(address); });
    return ran ? int{kSuccess} : int{kIllegalAddress};
  });
}
// For the fake for NCCL: a GPU's part of what several do together, which is kNotReady until they have come to it; and whether
// memory lies on a GPU.
EXPORT int fakeCudaQueue(Device device, Handle handle, const Operation* operation) {
  LOCK;
  Stream* stream = known(gpus()[static_cast<size_t>(device)].streams, handle);
  if (stream == nullptr) return kInvalidHandle;
  stream->add(*operation);
  return kSuccess;
}
EXPORT bool fakeCudaHolds(Device device, const void* memory, size_t bytes) {
  LOCK;
  return gpus()[static_cast<size_t>(device)].holds(reinterpret_cast<Address>(memory), bytes);
}
// What other libraries queue beside kernels.
EXPORT int cuLaunchHostFunc(Handle stream, void (*function)(void*), void* argument) {
  ENTER(cuLaunchHostFunc);
  return queue_on(stream, [=] { return function(argument), int{kSuccess}; });
}

EXPORT int cuStreamBeginCapture_v2(Handle handle, int) {
  ENTER(cuStreamBeginCapture_v2);
  Stream* stream = known(current->streams, handle);
  if (stream == nullptr) return kInvalidHandle;
  if (stream->captured_by != nullptr) return kIllegalState;
  stream->captured_by = static_cast<Graph*>(keep(current->graphs, Graph{}));
  return kSuccess;
}
EXPORT int cuStreamEndCapture(Handle handle, Handle* graph) {
  ENTER(cuStreamEndCapture);
  Stream* stream = known(current->streams, handle);
  *graph = nullptr;
  if (stream == nullptr || stream->captured_by == nullptr) return kIllegalState;
  Graph* made = stream->captured_by;
  bool broken = false;
  for (const auto& one : current->streams)
    if (one->captured_by == made) {
      broken |= one->capture_broken;
      one->captured_by = nullptr;
      one->capture_broken = false;
    }
  for (const auto& event : current->events)
    if (event->captured_by == made) event->captured_by = nullptr, event->mark = nullptr;
  if (broken) return forget(current->graphs, made), int{kCaptureInvalidated};
  *graph = made;
  return kSuccess;
}
EXPORT int cuGraphDestroy(Handle graph) {
  ENTER(cuGraphDestroy);
  return forget(current->graphs, graph) ? kSuccess : kInvalidHandle;
}
EXPORT int cuGraphExecDestroy(Handle graph) {
  ENTER(cuGraphExecDestroy);
  current->drain_all();
  return forget(current->graphs, graph) ? kSuccess : kInvalidHandle;
}
EXPORT int cuGraphLaunch(Handle handle, Handle stream) {
  ENTER(cuGraphLaunch);
  Graph* graph = known(current->graphs, handle);
  if (graph == nullptr) return kInvalidHandle;
  return queue_on(stream, [graph] {
    for (const Operation& operation : graph->operations)
      if (int code = operation(); code != kSuccess) return code;
    return int{kSuccess};
  });
}
EXPORT int cuGraphInstantiate_v2(Handle* executable, Handle handle, Handle*, char*, size_t) {
  ENTER(cuGraphInstantiate_v2);
  Graph* graph = known(current->graphs, handle);
  if (graph == nullptr) return kInvalidHandle;
  *executable = keep(current->graphs, Graph(*graph));
  return kSuccess;
}
EXPORT int cuMemPrefetchAsync(Address address, size_t bytes, Device, Handle stream) {
  ENTER(cuMemPrefetchAsync);
  const Range range = current->range_of(address);
  if (!current->holds(address, bytes) || current->memory[range.begin].place != Place::kManaged) return kInvalidValue;
  if (number_of(*current->part, "concurrent_managed_access") == 0) return kInvalidDevice;
  return queue_on(stream, [] { return int{kSuccess}; });
}

EXPORT int cuGraphInstantiateWithFlags(Handle* executable, Handle graph, unsigned long long) {
  return cuGraphInstantiate_v2(executable, graph, nullptr, nullptr, 0);
}
EXPORT int cuMemPrefetchAsync_v2(Address address, size_t bytes, MemoryLocation, unsigned, Handle stream) {
  return cuMemPrefetchAsync(address, bytes, 0, stream);
}
EXPORT int cuMemAllocAsync(Address* address, size_t bytes, Handle stream) {
  ENTER(cuMemAllocAsync);
  if (number_of(*current->part, "memory_pools") == 0) return kNotSupported;
  if (known(current->streams, stream) == nullptr) return kInvalidHandle;
  return current->allocate(bytes, Place::kGpu, address);
}
EXPORT int cuMemFreeAsync(Address address, Handle stream) {
  ENTER(cuMemFreeAsync);
  if (!current->holds(address, 1)) return kInvalidValue;
  return queue_on(stream, [this_gpu = current, address] { return this_gpu->release(address, false); });
}
EXPORT int cuDeviceGetDefaultMemPool(Handle* pool, Device device) {
  LOCK;
  if (device < 0 || static_cast<size_t>(device) >= gpus().size()) return kInvalidDevice;
  *pool = &gpus()[static_cast<size_t>(device)];
  return kSuccess;
}
EXPORT int cuMemPoolSetAttribute(Handle, int attribute, void*) {
  return attribute == kReleaseThreshold ? kSuccess : kInvalidValue;
}

}  // extern "C"

// As what ridge looks up, which tests/abi compares with NVIDIA's header.
#define SAME(name) static_assert(std::is_same_v<decltype(::name), decltype(ridge::gpu::cuda::Library::name)::Type>)
SAME(cuMemGetInfo_v2);
SAME(cuMemAlloc_v2);
SAME(cuMemAllocManaged);
SAME(cuMemFree_v2);
SAME(cuMemHostAlloc);
SAME(cuMemFreeHost);
SAME(cuMemHostGetDevicePointer_v2);
SAME(cuMemcpyHtoD_v2);
SAME(cuMemcpyDtoH_v2);
SAME(cuMemcpyHtoDAsync_v2);
SAME(cuMemcpyDtoHAsync_v2);
SAME(cuMemcpyDtoDAsync_v2);
SAME(cuMemsetD8Async);
SAME(cuStreamCreate);
SAME(cuStreamDestroy_v2);
SAME(cuStreamSynchronize);
SAME(cuStreamQuery);
SAME(cuStreamWaitEvent);
SAME(cuEventCreate);
SAME(cuEventDestroy_v2);
SAME(cuEventRecord);
SAME(cuEventSynchronize);
SAME(cuEventElapsedTime);
SAME(cuLaunchKernel);
SAME(cuStreamBeginCapture_v2);
SAME(cuStreamEndCapture);
SAME(cuGraphDestroy);
SAME(cuGraphExecDestroy);
SAME(cuGraphLaunch);
SAME(cuGraphInstantiate_v2);
SAME(cuMemPrefetchAsync);
SAME(cuGraphInstantiateWithFlags);
SAME(cuMemPrefetchAsync_v2);
SAME(cuMemAllocAsync);
SAME(cuMemFreeAsync);
SAME(cuDeviceGetDefaultMemPool);
SAME(cuMemPoolSetAttribute);
#undef SAME
