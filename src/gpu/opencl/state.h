// What an OpenCL workspace owns; private to gpu/opencl/opencl*.cc.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "gpu/opencl/library.h"
#include "gpu/opencl/opencl.h"

namespace ridge::gpu::opencl {

Error opencl_error(const char* function, cl_int code);

// One object of the library, released with its owner.
template <typename Handle>
class OpenClObject {
 public:
  using Release = cl_int(Handle);
  OpenClObject() = default;
  OpenClObject(Handle handle, std::type_identity_t<Release*> release) : handle_(handle, release) {}
  Handle get() const { return handle_.get(); }

 private:
  struct Nothing {
    cl_int operator()(Handle) const { return CL_SUCCESS; }
  };
  std::unique_ptr<std::remove_pointer_t<Handle>, std::function<Release>> handle_{nullptr, Nothing{}};
};

// One buffer in memory of one kind; move-only.
struct OpenClBuffer {
  MemoryKind kind = MemoryKind::kDevice;
  size_t bytes = 0;
  OpenClObject<cl_mem> object;  // kDevice, kPinned
  std::vector<float> host;      // kHost
  // kPinned: where `object` is mapped, for as long as it lives; kUnified: the memory itself.
  std::unique_ptr<void, std::function<void(void*)>> address{nullptr, [](void*) {}};

  // Where the host reads and writes at any time; nullptr: kDevice, kUnified.
  void* host_address() {
    return kind == MemoryKind::kHost ? host.data() : kind == MemoryKind::kPinned ? address.get() : nullptr;
  }
};

struct OpenClWorkspace::State {
  explicit State(std::shared_ptr<const opencl::Library> opened) : library(std::move(opened)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  // What was queued before a step failed may still use buffers and the host's memory.
  ~State() { [[maybe_unused]] Status ended = finish(); }
  Status start(cl_device_id on);
  // The queue of that number, made when it is first asked for.
  Result<cl_command_queue> queue(size_t number);
  // The kernel of that name, with its arguments set.
  Result<cl_kernel> kernel_for(const Launch& launch);
  // Queues `steps` once; appends one event per launch that the device times.
  Status queue_all(std::span<const Step> steps, std::vector<OpenClObject<cl_event>>& events);
  // Sends all that is queued on its way and waits for it.
  Status finish();

  // opencl_memory.cc
  Result<OpenClBuffer> allocate(MemoryKind kind, size_t bytes);
  // Queued, but for unified memory; `at` and `bytes` in both.
  Status copy(cl_command_queue queue, OpenClBuffer& from, OpenClBuffer& to, size_t at, size_t bytes);
  Status prefetch(cl_command_queue queue, const Prefetch& prefetch);
  Status renew(const Reallocate& renew);
  // Between a buffer and memory of the caller; done when it returns.
  Status exchange(OpenClBuffer& buffer, void* memory, size_t bytes, bool to_buffer);

  std::shared_ptr<const opencl::Library> library;
  cl_device_id device = nullptr;
  bool unified_memory = false;
  OpenClTiming timing = OpenClTiming::kByDevice;
  // In this order, so that what is made of something is released before it.
  OpenClObject<cl_context> context;
  std::vector<OpenClObject<cl_command_queue>> queues;
  std::vector<OpenClBuffer> buffers;
  std::vector<OpenClBuffer> spare;  // given back by Reallocate, to be taken again
  OpenClObject<cl_program> program;
  std::map<std::string, OpenClObject<cl_kernel>> kernels;

 private:
  // Has the host write or read unified memory, when what was queued before is done.
  Status touch(cl_command_queue queue, void* unified, void* memory, size_t bytes, bool write);
  Result<cl_mem> make_object(cl_mem_flags flags, size_t bytes);
  Status set_argument(cl_kernel kernel, const Launch& launch, uint32_t index);
  Status queue_launch(const Launch& launch, cl_command_queue queue, std::vector<OpenClObject<cl_event>>& events);
};

}  // namespace ridge::gpu::opencl
