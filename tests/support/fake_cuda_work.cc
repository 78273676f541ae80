// The other half of fake_cuda.cc: memory, streams, events and graphs.
#include <algorithm>

#include "fake_cuda_state.h"

namespace {

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

// Queues work on a stream; else returns the error code.
CUresult queue_on(CUstream handle, Operation operation) {
  CUstream stream = known(current->streams, handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  stream->add(std::move(operation));
  return CUDA_SUCCESS;
}

// Waiting for a stream is forbidden during its capture, and breaks it.
CUresult wait_for(CUstream_st& stream, const Mark* until = nullptr) {
  if (stream.captured_by != nullptr) {
    stream.capture_broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  CUresult code = current->drain(stream, until);
  // Waits for other GPUs, as long as they make progress.
  for (size_t left = stream.queue.size() + 1; code == CUDA_ERROR_NOT_READY && stream.queue.size() < left;) {
    left = stream.queue.size();
    for (CUctx_st& this_gpu : gpus()) this_gpu.drain_all();
    code = current->drain(stream, until);
  }
  return code == CUDA_ERROR_NOT_READY ? CUDA_ERROR_LAUNCH_TIMEOUT : code;
}

// A copy whose source is read at execution.
CUresult copy_later(CUstream stream, void* to, const void* from, size_t bytes) {
  return queue_on(stream, [=] { return std::memcpy(to, from, bytes), CUDA_SUCCESS; });
}

// The default stream takes part in no capture.
bool default_stream_waits() {
  return std::any_of(current->streams.begin(), current->streams.end(),
                     [](const auto& stream) { return stream->blocking && stream->captured_by != nullptr; });
}

thread_local CUstreamCaptureMode interaction = CU_STREAM_CAPTURE_MODE_GLOBAL;

// A potentially unsafe call breaks every capture that forbids it: those of this thread, and of others in the global
// mode. A relaxed thread may call all the same.
CUresult break_captures() {
  if (interaction == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  CUresult code = CUDA_SUCCESS;
  for (CUctx_st& this_gpu : gpus())
    for (const auto& stream : this_gpu.streams) {
      const CUgraph graph = stream->captured_by;
      if (graph == nullptr || graph->mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
      if (graph->thread != std::this_thread::get_id() &&
          (graph->mode != CU_STREAM_CAPTURE_MODE_GLOBAL || interaction != CU_STREAM_CAPTURE_MODE_GLOBAL))
        continue;
      stream->capture_broken = true;
      code = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
  return code;
}

size_t sleeping_waits = 0;

// Values of a kernel's arguments, at this moment.
std::vector<uint64_t> values_of(const Kernel& kernel, void** arguments) {
  std::vector<uint64_t> values(kernel.parameters.size());
  for (size_t i = 0; i < values.size(); ++i) std::memcpy(&values[i], arguments[i], kernel.parameters[i].size);
  return values;
}

}  // namespace

// The start of a function that the driver deems potentially unsafe during a capture.
#define ENTER_UNSAFE(function) \
  ENTER(function);             \
  if (CUresult unsafe = break_captures(); unsafe != CUDA_SUCCESS) return unsafe

extern "C" {

EXPORT CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  ENTER(cuMemGetInfo_v2);
  *total = number_of(*current->part, "memory_total_bytes");
  *free = *total - current->used_bytes;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  ENTER_UNSAFE(cuMemAlloc_v2);
  return current->allocate(bytes, Place::kGpu, address);
}
EXPORT CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned) {
  ENTER_UNSAFE(cuMemAllocManaged);
  if (number_of(*current->part, "managed_memory") == 0) return CUDA_ERROR_NOT_SUPPORTED;
  return current->allocate(bytes, Place::kManaged, address);
}
EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
  ENTER_UNSAFE(cuMemFree_v2);
  current->drain_all();
  return current->release(address, false);
}
EXPORT CUresult cuMemHostAlloc(void** host, size_t bytes, unsigned) {
  ENTER_UNSAFE(cuMemHostAlloc);
  CUdeviceptr address = 0;
  CUresult code = current->allocate(bytes, Place::kPinned, &address);
  *host = pointer(address);
  return code;
}
EXPORT CUresult cuMemFreeHost(void* host) {
  ENTER_UNSAFE(cuMemFreeHost);
  current->drain_all();
  return current->release(reinterpret_cast<CUdeviceptr>(host), true);
}
EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* host, unsigned) {
  ENTER(cuMemHostGetDevicePointer_v2);
  *address = reinterpret_cast<CUdeviceptr>(host);
  return current->pinned(host) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// These belong to the default stream, independent of other streams' work. From memory that is not pinned the first may
// return before the GPU has the content.
EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  ENTER_UNSAFE(cuMemcpyHtoD_v2);
  if (default_stream_waits()) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  if (!current->holds(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
  auto now = std::make_shared<std::string>(static_cast<const char*>(from), bytes);
  current->standard.add([=] { return std::memcpy(pointer(to), now->data(), bytes), CUDA_SUCCESS; });
  return current->pinned(from) ? current->drain(current->standard) : CUDA_SUCCESS;
}
EXPORT CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  ENTER_UNSAFE(cuMemcpyDtoH_v2);
  if (default_stream_waits()) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  if (!current->holds(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult code = current->drain(current->standard); code != CUDA_SUCCESS) return code;
  std::memcpy(to, pointer(from), bytes);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  ENTER(cuMemcpyHtoDAsync_v2);
  if (!current->holds(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (current->pinned(from)) return copy_later(stream, pointer(to), from, bytes);
  // The driver has copied other memory when the call returns.
  auto now = std::make_shared<std::string>(static_cast<const char*>(from), bytes);
  return queue_on(stream, [=] { return std::memcpy(pointer(to), now->data(), bytes), CUDA_SUCCESS; });
}
EXPORT CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  ENTER(cuMemcpyDtoHAsync_v2);
  if (!current->holds(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return copy_later(stream, to, pointer(from), bytes);
}
EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  ENTER(cuMemcpyDtoDAsync_v2);
  if (!current->holds(from, bytes) || !current->holds(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return copy_later(stream, pointer(to), pointer(from), bytes);
}
EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  ENTER(cuMemsetD8Async);
  if (!current->holds(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return queue_on(stream, [=] { return std::memset(pointer(to), value, bytes), CUDA_SUCCESS; });
}

EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  ENTER(cuStreamCreate);
  *stream = keep(current->streams);
  (*stream)->blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamDestroy_v2(CUstream handle) {
  ENTER(cuStreamDestroy_v2);
  CUstream stream = known(current->streams, handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  current->drain(*stream);
  for (const auto& event : current->events)
    if (event->stream == stream) event->stream = nullptr;
  forget(current->streams, handle);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamSynchronize(CUstream handle) {
  ENTER_UNSAFE(cuStreamSynchronize);
  CUstream stream = handle == nullptr ? &current->standard : known(current->streams, handle);
  return stream == nullptr ? CUDA_ERROR_INVALID_HANDLE : wait_for(*stream);
}
// Every query advances the work by a step.
EXPORT CUresult cuStreamQuery(CUstream handle) {
  ENTER_UNSAFE(cuStreamQuery);
  CUstream stream = known(current->streams, handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!stream->queue.empty()) current->step(*stream);
  if (current->broken != CUDA_SUCCESS) return current->broken;
  return stream->queue.empty() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
EXPORT CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned) {
  ENTER(cuStreamWaitEvent);
  CUstream stream = known(current->streams, handle);
  CUevent event = known(current->events, event_handle);
  if (stream == nullptr || event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (event->captured_by != nullptr)
    return stream->captured_by = event->captured_by, CUDA_SUCCESS;  // joins the capture
  if (event->mark == nullptr) return CUDA_SUCCESS;                  // never recorded: nothing to wait for
  stream->add([this_gpu = current, from = event->stream, mark = event->mark] {
    return from == nullptr || mark->passed ? CUDA_SUCCESS : this_gpu->drain(*from, mark.get());
  });
  return CUDA_SUCCESS;
}

EXPORT CUresult cuEventCreate(CUevent* event, unsigned flags) {
  ENTER(cuEventCreate);
  *event = keep(current->events);
  (*event)->sleeps = (flags & CU_EVENT_BLOCKING_SYNC) != 0;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuEventDestroy_v2(CUevent event) {
  ENTER(cuEventDestroy_v2);
  return forget(current->events, event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
EXPORT CUresult cuEventRecord(CUevent handle, CUstream stream_handle) {
  ENTER(cuEventRecord);
  CUevent event = known(current->events, handle);
  CUstream stream = known(current->streams, stream_handle);
  if (event == nullptr || stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  event->captured_by = stream->captured_by;
  event->stream = stream;
  event->mark = std::make_shared<Mark>();
  if (event->captured_by != nullptr) return CUDA_SUCCESS;
  stream->add([mark = event->mark] {
    mark->time = std::chrono::steady_clock::now();
    mark->passed = true;
    return CUDA_SUCCESS;
  });
  return CUDA_SUCCESS;
}
EXPORT size_t fakeCudaSleepingWaits() {
  LOCK;
  return sleeping_waits;
}
EXPORT CUresult cuEventSynchronize(CUevent handle) {
  ENTER_UNSAFE(cuEventSynchronize);
  CUevent event = known(current->events, handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  sleeping_waits += event->sleeps ? 1 : 0;
  if (event->mark == nullptr || event->mark->passed || event->stream == nullptr) return CUDA_SUCCESS;
  return wait_for(*event->stream, event->mark.get());
}
EXPORT CUresult cuEventElapsedTime(float* milliseconds, CUevent begin_handle, CUevent end_handle) {
  ENTER(cuEventElapsedTime);
  CUevent begin = known(current->events, begin_handle), end = known(current->events, end_handle);
  if (begin == nullptr || end == nullptr || begin->mark == nullptr || end->mark == nullptr)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!begin->mark->passed || !end->mark->passed) return CUDA_ERROR_NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(end->mark->time - begin->mark->time).count();
  return CUDA_SUCCESS;
}

EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                               unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared,
                               CUstream stream, void** arguments, void**) {
  ENTER(cuLaunchKernel);
  Kernel& kernel = *function->kernel;
  const size_t threads = size_t{threads_x} * threads_y * threads_z;
  if (threads == 0 || threads > number_of(*current->part, "threads_per_block")) return CUDA_ERROR_INVALID_VALUE;
  if (size_t{blocks_x} * blocks_y * blocks_z == 0 || blocks_y > 65535 || blocks_z > 65535)
    return CUDA_ERROR_INVALID_VALUE;
  if (static_cast<int>(shared) > kernel.dynamic_shared_allowed) return CUDA_ERROR_INVALID_VALUE;
  // The first launch may load the code (CUDA C++ Programming Guide, lazy loading), which no capture allows.
  CUstream on = known(current->streams, stream);
  if (on != nullptr && on->captured_by != nullptr && !kernel.launched) {
    on->capture_broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  kernel.launched = true;
  return queue_on(stream, [=, this_gpu = current, &kernel, values = values_of(kernel, arguments)] {
    if (CUresult code = this_gpu->next_launch(); code != CUDA_SUCCESS) return code;
    bool ran = cpu().run(kernel, {blocks_x, blocks_y, blocks_z}, {threads_x, threads_y, threads_z}, values,
                         [this_gpu](CUdeviceptr address) { return this_gpu->range_of(address); });
    return ran ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
  });
}
EXPORT CUresult fakeCudaQueue(CUdevice device, CUstream handle, const Operation* operation) {
  LOCK;
  CUstream stream = known(gpus()[static_cast<size_t>(device)].streams, handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  stream->add(*operation);
  return CUDA_SUCCESS;
}
EXPORT bool fakeCudaHolds(CUdevice device, const void* memory, size_t bytes) {
  LOCK;
  return gpus()[static_cast<size_t>(device)].holds(reinterpret_cast<CUdeviceptr>(memory), bytes);
}
// Work queued by other libraries beside kernels.
EXPORT CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* argument) {
  ENTER(cuLaunchHostFunc);
  return queue_on(stream, [=] { return function(argument), CUDA_SUCCESS; });
}

EXPORT CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  LOCK;
  std::swap(*mode, interaction);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  ENTER(cuStreamBeginCapture_v2);
  CUstream stream = known(current->streams, handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->captured_by != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  stream->captured_by = keep(current->graphs);
  stream->captured_by->mode = mode;
  stream->captured_by->thread = std::this_thread::get_id();
  return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  ENTER(cuStreamEndCapture);
  CUstream stream = known(current->streams, handle);
  *graph = nullptr;
  if (stream == nullptr || stream->captured_by == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  CUgraph made = stream->captured_by;
  bool broken = false;
  for (const auto& one : current->streams)
    if (one->captured_by == made) {
      broken |= one->capture_broken;
      one->captured_by = nullptr;
      one->capture_broken = false;
    }
  for (const auto& event : current->events)
    if (event->captured_by == made) event->captured_by = nullptr, event->mark = nullptr;
  if (broken) return forget(current->graphs, made), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  *graph = made;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuGraphDestroy(CUgraph graph) {
  ENTER(cuGraphDestroy);
  return forget(current->graphs, graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
EXPORT CUresult cuGraphExecDestroy(CUgraphExec graph) {
  ENTER(cuGraphExecDestroy);
  current->drain_all();
  return forget(current->executables, graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
EXPORT CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream) {
  ENTER(cuGraphLaunch);
  CUgraphExec graph = known(current->executables, handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return queue_on(stream, [graph] {
    for (const Operation& operation : graph->operations)
      if (CUresult code = operation(); code != CUDA_SUCCESS) return code;
    return CUDA_SUCCESS;
  });
}
EXPORT CUresult cuGraphInstantiate_v2(CUgraphExec* executable, CUgraph handle, CUgraphNode*, char*, size_t) {
  ENTER(cuGraphInstantiate_v2);
  CUgraph graph = known(current->graphs, handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *executable = keep(current->executables, {graph->operations});
  return CUDA_SUCCESS;
}
EXPORT CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice, CUstream stream) {
  ENTER(cuMemPrefetchAsync);
  const Range range = current->range_of(address);
  if (!current->holds(address, bytes) || current->memory[range.begin].place != Place::kManaged)
    return CUDA_ERROR_INVALID_VALUE;
  if (number_of(*current->part, "concurrent_managed_access") == 0) return CUDA_ERROR_INVALID_DEVICE;
  return queue_on(stream, [] { return CUDA_SUCCESS; });
}

EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  return cuGraphInstantiate_v2(executable, graph, nullptr, nullptr, 0);
}
EXPORT CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation, unsigned, CUstream stream) {
  return cuMemPrefetchAsync(address, bytes, 0, stream);
}
// A map is the address alone; it must be one that hardware takes (CUDA Driver API, "Tensor Map Object Management").
EXPORT CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                       const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                                       const cuuint32_t* steps, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                                       CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  ENTER(cuTensorMapEncodeTiled);
  const auto begin = reinterpret_cast<CUdeviceptr>(address);
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0 || begin % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_TENSOR_MAP_DATA_TYPE_UINT32 || rank != 2 || strides[0] % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
  if (box[0] > 256 || box[1] > 256 || steps[0] != 1 || steps[1] != 1) return CUDA_ERROR_INVALID_VALUE;
  if (swizzle == CU_TENSOR_MAP_SWIZZLE_128B && box[0] * 4 > 128) return CUDA_ERROR_INVALID_VALUE;
  if (sizes[0] * 4 > strides[0] || !current->holds(begin, strides[0] * sizes[1])) return CUDA_ERROR_INVALID_VALUE;
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &begin, sizeof begin);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  ENTER(cuMemAllocAsync);
  if (number_of(*current->part, "memory_pools") == 0) return CUDA_ERROR_NOT_SUPPORTED;
  if (known(current->streams, stream) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return current->allocate(bytes, Place::kGpu, address);
}
EXPORT CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  ENTER(cuMemFreeAsync);
  if (!current->holds(address, 1)) return CUDA_ERROR_INVALID_VALUE;
  return queue_on(stream, [this_gpu = current, address] { return this_gpu->release(address, false); });
}
EXPORT CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  LOCK;
  if (device < 0 || static_cast<size_t>(device) >= gpus().size()) return CUDA_ERROR_INVALID_DEVICE;
  *pool = reinterpret_cast<CUmemoryPool>(&gpus()[static_cast<size_t>(device)]);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuMemPoolSetAttribute(CUmemoryPool, CUmemPool_attribute attribute, void*) {
  return attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // extern "C"
