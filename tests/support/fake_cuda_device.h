// The GPUs of fake_cuda.cc: their memory, which is the CPU's, and their streams, whose work is delayed as long as CUDA
// allows: until it is waited for. Code that forgets to wait sees old values. The structures are cuda.h's opaque ones: a
// handle is a pointer to one.
//
// One thread at a time.
#pragma once

#include <cuda.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "fake_cuda_memory.h"
#include "fake_cuda_multiprocessor.h"
#include "scripted_gpus.h"

namespace ridge::fake {

using Operation = std::function<CUresult()>;
using Time = std::chrono::steady_clock::time_point;

// When a stream reached a recorded event.
struct Mark {
  bool passed = false;
  Time time;
};

enum class Place { kGpu, kPinned, kManaged, kOtherProcess };
struct Allocation {
  size_t size = 0;
  Place place = Place::kGpu;
  FakeMemory content;
};

}  // namespace ridge::fake

using namespace ridge::fake;  // the structures are in no namespace

struct CUgraph_st {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;  // of its capture
  std::thread::id thread;                                    // that captures
  std::vector<Operation> operations;
};

struct CUgraphExec_st {
  std::vector<Operation> operations;
};

struct CUstream_st {
  std::deque<Operation> queue;
  bool blocking = true;  // waits for the default stream
  CUgraph captured_by = nullptr;
  bool capture_broken = false;

  void add(Operation operation) {
    if (captured_by != nullptr)
      captured_by->operations.push_back(std::move(operation));
    else
      queue.push_back(std::move(operation));
  }
};

struct CUevent_st {
  std::shared_ptr<Mark> mark;
  CUstream stream = nullptr;  // of its last recording
  CUgraph captured_by = nullptr;
  bool sleeps = false;  // who waits for it
};

// The result of cuModuleGetFunction: belongs to its module.
struct CUfunc_st {
  Kernel* kernel = nullptr;
};

struct CUmod_st {
  Program program;
  std::map<Kernel*, std::unique_ptr<CUfunc_st>> functions;
};

namespace ridge::fake {

// Owned objects are found by their user's handle.
template <typename T>
using OwnedSet = std::set<std::unique_ptr<T>>;
template <typename T>
T* known(const OwnedSet<T>& owned, T* handle) {
  for (const std::unique_ptr<T>& one : owned)
    if (one.get() == handle) return handle;
  return nullptr;
}
template <typename T>
bool forget(OwnedSet<T>& owned, T* handle) {
  return std::erase_if(owned, [&](const std::unique_ptr<T>& one) { return one.get() == handle; }) > 0;
}
template <typename T>
T* keep(OwnedSet<T>& owned, T made = {}) {
  return owned.insert(std::make_unique<T>(std::move(made))).first->get();
}

}  // namespace ridge::fake

// A GPU, which is its own primary context.
struct CUctx_st {
  const Part* part = nullptr;
  int users = 0;                   // of the context
  CUresult broken = CUDA_SUCCESS;  // every call's answer after an error
  int64_t launches = 0;            // run so far
  size_t used_bytes = 0;
  std::map<CUdeviceptr, Allocation> memory;
  CUstream_st standard;  // the default stream
  OwnedSet<CUstream_st> streams;
  OwnedSet<CUevent_st> events;
  OwnedSet<CUmod_st> modules;
  OwnedSet<CUgraph_st> graphs;
  OwnedSet<CUgraphExec_st> executables;

  size_t objects() const {
    return memory.size() + streams.size() + events.size() + modules.size() + graphs.size() + executables.size();
  }

  CUresult allocate(size_t bytes, Place place, CUdeviceptr* address) {
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (place == Place::kGpu && used_bytes + bytes > number_of(*part, "memory_total_bytes"))
      return CUDA_ERROR_OUT_OF_MEMORY;
    FakeMemory content =
        place == Place::kGpu && says(*part, "ipc") ? FakeMemory::shared(bytes) : FakeMemory::own(bytes);
    if (content.get() == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    std::memset(content.get(), 0xA5, bytes);  // uninitialised memory is not zero
    *address = reinterpret_cast<CUdeviceptr>(content.get());
    memory[*address] = {bytes, place, std::move(content)};
    if (place == Place::kGpu) used_bytes += bytes;
    return CUDA_SUCCESS;
  }
  CUresult release(CUdeviceptr address, bool pinned) {
    auto found = memory.find(address);
    if (found == memory.end() || (found->second.place == Place::kPinned) != pinned) return CUDA_ERROR_INVALID_VALUE;
    if (found->second.place == Place::kOtherProcess) return CUDA_ERROR_INVALID_VALUE;
    if (found->second.place == Place::kGpu) used_bytes -= found->second.size;
    memory.erase(found);
    return CUDA_SUCCESS;
  }
  Range range_of(CUdeviceptr address) const {
    auto next = memory.upper_bound(address);
    if (next == memory.begin()) return {};
    --next;
    return address < next->first + next->second.size ? Range{next->first, next->second.size} : Range{};
  }
  bool holds(CUdeviceptr address, size_t bytes) const {
    const Range range = range_of(address);
    return range.size != 0 && address + bytes <= range.begin + range.size;
  }
  bool pinned(const void* host) const {
    auto found = memory.upper_bound(reinterpret_cast<CUdeviceptr>(host));
    return found != memory.begin() && (--found)->second.place == Place::kPinned &&
           reinterpret_cast<CUdeviceptr>(host) < found->first + found->second.size;
  }

  // Does the first work of a stream; CUDA_ERROR_NOT_READY: it waits for another GPU, and stays.
  CUresult step(CUstream_st& stream) {
    Operation operation = std::move(stream.queue.front());
    stream.queue.pop_front();
    const CUresult code = operation();
    if (code == CUDA_ERROR_NOT_READY)
      stream.queue.push_front(std::move(operation));
    else
      broken = code;
    return code;
  }
  // Does a stream's delayed work: all of it, until it has passed a mark, or until it waits for another GPU.
  CUresult drain(CUstream_st& stream, const Mark* until = nullptr) {
    while (!stream.queue.empty() && broken == CUDA_SUCCESS && !(until != nullptr && until->passed))
      if (step(stream) == CUDA_ERROR_NOT_READY) return CUDA_ERROR_NOT_READY;
    return broken;
  }
  CUresult drain_all() {
    drain(standard);
    for (const std::unique_ptr<CUstream_st>& stream : streams) drain(*stream);
    return broken;
  }

  // Number of kernels before the GPU is lost: "lost_after 3 719".
  CUresult next_launch() {
    std::istringstream words(text_of(*part, "lost_after"));
    int64_t most = 0;
    int code = 0;
    if (words >> most >> code && launches >= most) return static_cast<CUresult>(code);
    ++launches;
    return CUDA_SUCCESS;
  }
};
