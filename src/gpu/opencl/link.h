// The way between the host's memory and an OpenCL device: buffers on both sides, and copies between them.
//
// Pinned host memory is what CL_MEM_ALLOC_HOST_PTR gives, mapped once for good (OpenCL 1.2 specification, 5.2.1); the specification
// only hopes that it is pinned. Move-only; one thread.
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"
#include "gpu/transfer.h"

namespace ridge::gpu::opencl {

class OpenClLink {
 public:
  OpenClLink(OpenClLink&& other) noexcept;
  OpenClLink& operator=(OpenClLink&& other) noexcept;
  OpenClLink(const OpenClLink&) = delete;
  OpenClLink& operator=(const OpenClLink&) = delete;
  ~OpenClLink();

  size_t bytes() const;  // of one copy, each way
  // One copy, from before it is queued until it has ended, by the host's clock [s].
  Result<double> seconds(Way way, HostMemory memory);
  // Sends a pattern to the device and fetches it again; kFailed if something else comes back.
  Status check(HostMemory memory);

 private:
  friend class OpenCl;
  struct State;
  explicit OpenClLink(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ridge::gpu::opencl
