// A workspace (gpu/device.h) on an OpenCL device. Private to gpu/opencl.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/tensor.h"
#include "gpu/device.h"
#include "gpu/opencl/library.h"

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

class OpenClWorkspace final : public Workspace {
 public:
  static Result<std::unique_ptr<Workspace>> open(std::shared_ptr<const Library> library, cl_device_id device,
                                                 bool unified_memory, Timing timing);
  // Work queued before a failed step may still use buffers and the host's memory.
  ~OpenClWorkspace() override { [[maybe_unused]] Status ended = finish(); }

  Status build(const std::string& source) override;
  Result<BufferNumber> add_bytes(size_t size, MemoryKind kind) override;
  Status write_bytes(BufferNumber buffer, std::span<const std::byte> content, size_t at) override;
  Status read_bytes(BufferNumber buffer, std::span<std::byte> content, size_t at) override;
  // The device times each launch separately.
  Result<LaunchTime> run(std::span<const Step> steps, int repeats) override;

 private:
  // In memory of one kind; move-only.
  struct OpenClBuffer {
    MemoryKind kind = MemoryKind::kDevice;
    size_t bytes = 0;
    OpenClObject<cl_mem> object;  // kDevice, kPinned
    Buffer pageable;              // kHost
    // kPinned: the mapping of `object`, valid for its lifetime; kUnified: the memory itself.
    std::unique_ptr<void, std::function<void(void*)>> address{nullptr, [](void*) {}};

    // Memory that the host reads and writes at any time; nullptr: kDevice, kUnified.
    std::byte* host() {
      if (kind == MemoryKind::kPinned) return static_cast<std::byte*>(address.get());
      return kind == MemoryKind::kHost ? pageable.data() : nullptr;
    }
  };
  using Events = std::vector<OpenClObject<cl_event>>;

  OpenClWorkspace(std::shared_ptr<const Library> library, cl_device_id device, bool unified_memory, Timing timing)
      : library_(std::move(library)), device_(device), unified_memory_(unified_memory), timing_(timing) {}

  // The queue of that number, created on first use.
  Result<cl_command_queue> queue(size_t number);
  // The kernel of that name, with its arguments set.
  Result<cl_kernel> kernel_for(const Launch& launch);
  Status set_argument(cl_kernel kernel, const Launch& launch, uint32_t index);
  // Appends an event for each timed command.
  Status queue_launch(const Launch& launch, cl_command_queue queue, Events& events);
  Status queue_all(std::span<const Step> steps, Events& events);
  // Submits all queued work and waits for it.
  Status finish();

  // memory.cc
  Result<OpenClBuffer> allocate(MemoryKind kind, size_t bytes);
  // Queued, except for unified memory; `at` and `bytes` in both.
  Status copy(cl_command_queue queue, const Copy& copy);
  Status prefetch(cl_command_queue queue, const Prefetch& prefetch);
  Status renew(const Reallocate& renew);
  // Between a buffer and memory of the caller; complete on return.
  Status exchange(BufferNumber buffer, std::byte* memory, size_t bytes, size_t at, bool to_buffer);
  // Has the host write or read unified memory, after all work queued before.
  Status touch(cl_command_queue queue, std::byte* unified, std::byte* memory, size_t bytes, bool write);

  std::shared_ptr<const Library> library_;
  cl_device_id device_;
  bool unified_memory_;
  Timing timing_;
  // In this order, so that dependents are released first.
  OpenClObject<cl_context> context_;
  std::vector<OpenClObject<cl_command_queue>> queues_;
  std::vector<OpenClBuffer> buffers_;
  std::vector<OpenClBuffer> spare_;  // released by Reallocate, for reuse
  OpenClObject<cl_program> program_;
  std::map<std::string, OpenClObject<cl_kernel>> kernels_;
};

}  // namespace ridge::gpu::opencl
