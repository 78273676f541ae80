#include "gpu/cuda/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "gpu/cuda/abi.h"
#include "gpu/cuda/error.h"

namespace ridge::gpu::cuda {

Result<CudaMemory> CudaMemory::allocate(const CudaContext& context, size_t bytes, MemoryKind kind) {
  CudaMemory memory;
  memory.size_ = bytes;
  if (kind == MemoryKind::kHost) {
    memory.pageable_ = Buffer(bytes);
    memory.host_ = memory.pageable_.data();
    std::fill_n(memory.host_, bytes, std::byte{0});
    return memory;
  }
  RIDGE_TRY(context.use());
  const cuda::Library& library = context.library();
  auto outcome = [&](const char* function, int code) {
    Status status = cuda_status(library, function, code);
    return status ? status : Status(wrap(status.error(), fmt::format("{} bytes", bytes)));
  };
  if (kind == MemoryKind::kPinned) {
    void* host = nullptr;
    RIDGE_TRY(outcome("cuMemHostAlloc", library.cuMemHostAlloc(&host, bytes, cuda::kPortable)));
    memory.pinned_ = CudaHandle<void*>(context, host, library.cuMemFreeHost);
    memory.host_ = static_cast<std::byte*>(host);
    RIDGE_TRY(outcome("cuMemHostGetDevicePointer_v2", library.cuMemHostGetDevicePointer_v2(&memory.address_, host, 0)));
    return memory;
  }
  if (kind == MemoryKind::kUnified) {
    RIDGE_TRY(outcome("cuMemAllocManaged", library.cuMemAllocManaged(&memory.address_, bytes, cuda::kAttachGlobal)));
    memory.host_ = reinterpret_cast<std::byte*>(memory.address_);
  } else {
    RIDGE_TRY(outcome("cuMemAlloc_v2", library.cuMemAlloc_v2(&memory.address_, bytes)));
  }
  memory.on_device_ = CudaHandle<uint64_t>(context, memory.address_, library.cuMemFree_v2);
  return memory;
}

namespace {

// The driver's errors about a handle are unspecific, and its codes differ between versions.
Error not_shared(const cuda::Library& library, int code) {
  Error error = cuda_error(library, "cuIpcOpenMemHandle", code);
  if (error.code == Code::kFailed) error.code = Code::kInvalid;
  error.message +=
      "; the handle must be of memory that another process has allocated on this GPU by cudaMalloc and still holds";
  return error;
}

Error cannot_share() {
  return {Code::kUnsupported,
          "this driver has no functions to share a GPU's memory between processes (cuIpcOpenMemHandle)"};
}

}  // namespace

Result<CudaMemory> CudaMemory::open_shared(const CudaContext& context, const CudaShareHandle& handle, size_t bytes) {
  RIDGE_TRY(context.use());
  const cuda::Library& library = context.library();
  int (*open)(cuda::Address*, cuda::IpcHandle, unsigned) = library.cuIpcOpenMemHandle_v2;
  if (open == nullptr) open = library.cuIpcOpenMemHandle;
  if (open == nullptr || !library.cuIpcCloseMemHandle || !library.cuMemGetAddressRange_v2) return cannot_share();
  cuda::IpcHandle given{};
  std::copy(handle.begin(), handle.end(), given.bytes);
  CudaMemory memory;
  memory.size_ = bytes;
  if (int code = open(&memory.address_, given, cuda::kLazyPeerAccess); code != cuda::kSuccess)
    return not_shared(library, code);
  memory.on_device_ = CudaHandle<uint64_t>(context, memory.address_, library.cuIpcCloseMemHandle);
  cuda::Address base = 0;
  size_t size = 0;
  RIDGE_TRY(
      cuda_status(library, "cuMemGetAddressRange_v2", library.cuMemGetAddressRange_v2(&base, &size, memory.address_)));
  const size_t there = size - static_cast<size_t>(memory.address_ - base);
  if (bytes > there) return invalid(fmt::format("the handle's memory has {} bytes, {} were requested", there, bytes));
  return memory;
}

Status CudaMemory::write(std::span<const std::byte> content, size_t at) {
  assert(at + content.size() <= size_);
  if (content.empty()) return {};
  RIDGE_TRY(context().use());
  const cuda::Library& library = context().library();
  RIDGE_TRY(
      cuda_status(library, "cuMemcpyHtoD_v2", library.cuMemcpyHtoD_v2(address_ + at, content.data(), content.size())));
  // May return once the driver has its own copy of the content, and our streams do not wait for the default one.
  return cuda_status(library, "cuStreamSynchronize", library.cuStreamSynchronize(nullptr));
}

Status CudaMemory::read(std::span<std::byte> content, size_t at) const {
  assert(at + content.size() <= size_);
  if (content.empty()) return {};
  RIDGE_TRY(context().use());
  const cuda::Library& library = context().library();
  return cuda_status(library, "cuMemcpyDtoH_v2",
                     library.cuMemcpyDtoH_v2(content.data(), address_ + at, content.size()));
}

}  // namespace ridge::gpu::cuda
