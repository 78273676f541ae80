// What an OpenCL workspace owns; private to gpu/opencl*.cc.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu/opencl.h"
#include "gpu/opencl_abi.h"

namespace ridge::gpu {

Error opencl_error(const char* function, int32_t code);

// One object of the library, released with its owner.
class OpenClObject {
 public:
  using Release = int32_t(opencl::Handle);
  OpenClObject() = default;
  OpenClObject(opencl::Handle handle, Release* release) : handle_(handle, release) {}
  opencl::Handle get() const { return handle_.get(); }

 private:
  struct Nothing {
    int32_t operator()(opencl::Handle) const { return 0; }
  };
  std::unique_ptr<void, std::function<Release>> handle_{nullptr, Nothing{}};
};

struct OpenClWorkspace::State {
  explicit State(std::shared_ptr<const opencl::Library> opened) : library(std::move(opened)) {}
  Status start(opencl::Handle on, OpenClTiming with);
  // The kernel of that name, with its arguments set.
  Result<opencl::Handle> kernel_for(const Launch& launch);
  Result<BufferNumber> add_buffer(size_t bytes);
  // Queues `launches` once; appends one event each, if launches are timed by the device.
  Status queue_all(std::span<const Launch> launches, std::vector<OpenClObject>& events);

  std::shared_ptr<const opencl::Library> library;
  opencl::Handle device = nullptr;
  OpenClTiming timing = OpenClTiming::kByDevice;
  // In this order, so that what is made of something is released before it.
  OpenClObject context, queue;
  std::vector<OpenClObject> buffers;
  std::vector<size_t> sizes;  // of the buffers [bytes]
  OpenClObject program;
  std::map<std::string, OpenClObject> kernels;
};

}  // namespace ridge::gpu
