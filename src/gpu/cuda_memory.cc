#include "gpu/cuda_memory.h"

#include <fmt/format.h>

#include <cassert>

#include "gpu/cuda_abi.h"
#include "gpu/cuda_error.h"

namespace ridge::gpu {

Result<CudaMemory> CudaMemory::allocate(const CudaContext& context, size_t bytes, CudaMemoryKind kind) {
  RIDGE_TRY(context.use());
  const cuda::Library& library = context.library();
  CudaMemory memory;
  memory.size_ = bytes;
  auto outcome = [&](const char* function, int code) {
    Status status = cuda_status(library, function, code);
    return status ? status : Status(wrap(status.error(), fmt::format("{} bytes", bytes)));
  };
  if (kind == CudaMemoryKind::kPinned) {
    void* host = nullptr;
    RIDGE_TRY(outcome("cuMemHostAlloc", library.cuMemHostAlloc(&host, bytes, cuda::kPortable)));
    memory.pinned_ = CudaOwned<void*>(context, host, library.cuMemFreeHost);
    memory.host_ = static_cast<std::byte*>(host);
    RIDGE_TRY(outcome("cuMemHostGetDevicePointer_v2", library.cuMemHostGetDevicePointer_v2(&memory.address_, host, 0)));
    return memory;
  }
  if (kind == CudaMemoryKind::kManaged) {
    RIDGE_TRY(outcome("cuMemAllocManaged", library.cuMemAllocManaged(&memory.address_, bytes, cuda::kAttachGlobal)));
    memory.host_ = reinterpret_cast<std::byte*>(memory.address_);
  } else {
    RIDGE_TRY(outcome("cuMemAlloc_v2", library.cuMemAlloc_v2(&memory.address_, bytes)));
  }
  memory.on_device_ = CudaOwned<uint64_t>(context, memory.address_, library.cuMemFree_v2);
  return memory;
}

Status CudaMemory::write(std::span<const std::byte> content, size_t at) {
  assert(at + content.size() <= size_);
  if (content.empty()) return {};
  RIDGE_TRY(context().use());
  const cuda::Library& library = context().library();
  RIDGE_TRY(
      cuda_status(library, "cuMemcpyHtoD_v2", library.cuMemcpyHtoD_v2(address_ + at, content.data(), content.size())));
  // The call may return when the driver has its own copy of the content, and our streams do not wait for the default one.
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

}  // namespace ridge::gpu
