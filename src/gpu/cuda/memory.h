// Memory of one kind (gpu/launch.h) for a GPU, as raw bytes.
//
// Move-only. One thread at a time, except write() and read(), which any number may call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "base/tensor.h"
#include "gpu/cuda/context.h"
#include "gpu/launch.h"

namespace ridge::gpu::cuda {

class CudaStream;

using CudaShareHandle = std::array<char, 64>;  // opaque

class CudaMemory {
 public:
  // Uninitialised; kHost is 0, so that all its pages exist. kExhausted: not enough is free.
  static Result<CudaMemory> allocate(const CudaContext& context, size_t bytes, MemoryKind kind = MemoryKind::kDevice);

  // `bytes` of the memory that another process exported as `handle`. That process must keep it until this is destroyed;
  // it may write to it at any time. kInvalid: no such memory, not that much, or one of this process; kUnsupported: the
  // driver or the GPU does not share memory between processes.
  static Result<CudaMemory> open_shared(const CudaContext& context, const CudaShareHandle& handle, size_t bytes);

  uint64_t address() const { return address_; }  // as kernels see it; 0: kHost
  size_t size() const { return size_; }          // [bytes]
  // The CPU's view; empty for memory on the GPU.
  std::span<std::byte> bytes() const { return {host_, host_ == nullptr ? 0 : size_}; }

  // Copies from and to the CPU's memory and waits. Does not wait for other streams: queued work must have ended.
  Status write(std::span<const std::byte> content, size_t at = 0);
  Status read(std::span<std::byte> content, size_t at = 0) const;

 private:
  friend class CudaStream;
  CudaHandle<uint64_t> on_device_;  // kDevice, kUnified and stream allocations
  CudaHandle<void*> pinned_;
  Buffer pageable_;
  uint64_t address_ = 0;
  std::byte* host_ = nullptr;
  size_t size_ = 0;
  const CudaContext& context() const { return pinned_.get() != nullptr ? pinned_.context() : on_device_.context(); }
};

}  // namespace ridge::gpu::cuda
