// The GPUs that fake_cuda.cc plays: their memory, which is the CPU's, and their streams, whose work is put off as long
// as CUDA allows: until it is waited for. What forgets to wait sees old values.
//
// One thread at a time.
#pragma once

#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fake_cuda_memory.h"
#include "fake_cuda_multiprocessor.h"
#include "gpu/cuda/abi.h"
#include "scripted_gpus.h"

namespace ridge::fake {

using gpu::cuda::Address;
using Operation = std::function<int()>;  // a CUDA code
using Time = std::chrono::steady_clock::time_point;

struct Graph {
  std::vector<Operation> operations;
};

// When a stream came to an event that was recorded.
struct Mark {
  bool passed = false;
  Time time;
};

struct Gpu;

struct Stream {
  Gpu* gpu = nullptr;
  std::deque<Operation> queue;
  Graph* captured_by = nullptr;
  bool capture_broken = false;

  void add(Operation operation) {
    if (captured_by != nullptr)
      captured_by->operations.push_back(std::move(operation));
    else
      queue.push_back(std::move(operation));
  }
};

struct Event {
  Gpu* gpu = nullptr;
  std::shared_ptr<Mark> mark;
  Stream* stream = nullptr;  // in which it was recorded last
  Graph* captured_by = nullptr;
};

struct Module {
  Gpu* gpu = nullptr;
  Program program;
};

// What cuModuleGetFunction gives: belongs to its module.
struct Function {
  Gpu* gpu = nullptr;
  Kernel* kernel = nullptr;
};

enum class Place { kGpu, kPinned, kManaged, kOtherProcess };
struct Allocation {
  size_t size = 0;
  Place place = Place::kGpu;
  FakeMemory content;
};

struct Gpu {
  const Part* part = nullptr;
  int users = 0;         // of its primary context
  int broken = 0;        // the code that everything answers since something went wrong; 0: nothing did
  int64_t launches = 0;  // run so far
  size_t used_bytes = 0;
  std::map<Address, Allocation> memory;
  Stream standard;  // the default stream
  std::set<std::unique_ptr<Stream>> streams;
  std::set<std::unique_ptr<Event>> events;
  std::set<std::unique_ptr<Module>> modules;
  std::set<std::unique_ptr<Graph>> graphs;  // and instantiated ones
  std::map<Kernel*, std::unique_ptr<Function>> functions;

  size_t objects() const { return memory.size() + streams.size() + events.size() + modules.size() + graphs.size(); }

  int allocate(size_t bytes, Place place, Address* address) {
    if (bytes == 0) return gpu::cuda::kInvalidValue;
    if (place == Place::kGpu && used_bytes + bytes > number_of(*part, "memory_total_bytes"))
      return gpu::cuda::kOutOfMemory;
    FakeMemory content =
        place == Place::kGpu && says(*part, "ipc") ? FakeMemory::shared(bytes) : FakeMemory::own(bytes);
    if (content.get() == nullptr) return gpu::cuda::kOutOfMemory;
    std::memset(content.get(), 0xA5, bytes);  // nothing may count on zeros
    *address = reinterpret_cast<Address>(content.get());
    memory[*address] = {bytes, place, std::move(content)};
    if (place == Place::kGpu) used_bytes += bytes;
    return gpu::cuda::kSuccess;
  }
  int release(Address address, bool pinned) {
    auto found = memory.find(address);
    if (found == memory.end() || (found->second.place == Place::kPinned) != pinned) return gpu::cuda::kInvalidValue;
    if (found->second.place == Place::kOtherProcess) return gpu::cuda::kInvalidValue;
    if (found->second.place == Place::kGpu) used_bytes -= found->second.size;
    memory.erase(found);
    return gpu::cuda::kSuccess;
  }
  Range range_of(Address address) const {
    auto next = memory.upper_bound(address);
    if (next == memory.begin()) return {};
    --next;
    return address < next->first + next->second.size ? Range{next->first, next->second.size} : Range{};
  }
  bool holds(Address address, size_t bytes) const {
    const Range range = range_of(address);
    return range.size != 0 && address + bytes <= range.begin + range.size;
  }
  bool pinned(const void* host) const {
    auto found = memory.upper_bound(reinterpret_cast<Address>(host));
    return found != memory.begin() && (--found)->second.place == Place::kPinned &&
           reinterpret_cast<Address>(host) < found->first + found->second.size;
  }

  // Does what is first in a stream; kNotReady: it waits for another GPU, and stays.
  int step(Stream& stream) {
    Operation operation = std::move(stream.queue.front());
    stream.queue.pop_front();
    const int code = operation();
    if (code == gpu::cuda::kNotReady)
      stream.queue.push_front(std::move(operation));
    else
      broken = code;
    return code;
  }
  // Does the work that a stream has put off: all of it, until it has passed a mark, or until it waits for another GPU.
  int drain(Stream& stream, const Mark* until = nullptr) {
    while (!stream.queue.empty() && broken == 0 && !(until != nullptr && until->passed))
      if (step(stream) == gpu::cuda::kNotReady) return gpu::cuda::kNotReady;
    return broken;
  }
  int drain_all() {
    drain(standard);
    for (const std::unique_ptr<Stream>& stream : streams) drain(*stream);
    return broken;
  }

  // How often a script lets kernels run before the GPU is lost: "lost_after 3 719".
  int next_launch() {
    std::istringstream words(text_of(*part, "lost_after"));
    int64_t most = 0;
    int code = 0;
    if (words >> most >> code && launches >= most) return code;
    ++launches;
    return gpu::cuda::kSuccess;
  }
};

// Owned objects are found by the handle that their user has.
template <typename T>
T* known(std::set<std::unique_ptr<T>>& owned, void* handle) {
  for (const std::unique_ptr<T>& one : owned)
    if (one.get() == handle) return one.get();
  return nullptr;
}
template <typename T>
bool forget(std::set<std::unique_ptr<T>>& owned, void* handle) {
  for (auto one = owned.begin(); one != owned.end(); ++one)
    if (one->get() == handle) return owned.erase(one), true;
  return false;
}
template <typename T>
void* keep(std::set<std::unique_ptr<T>>& owned, T made) {
  return owned.insert(std::make_unique<T>(std::move(made))).first->get();
}

}  // namespace ridge::fake
