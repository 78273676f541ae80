#include "serve/cuda_region.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "gpu/cuda/cuda.h"
#include "gpu/cuda/memory.h"

namespace ridge::serve {
namespace {

class CudaRegion final : public Region {
 public:
  explicit CudaRegion(gpu::cuda::CudaMemory memory) : memory_(std::move(memory)) {}
  size_t size() const override { return memory_.size(); }
  std::span<std::byte> bytes() const override { return {}; }
  Status check(size_t, size_t) const override { return {}; }
  Status read(size_t offset, std::span<std::byte> into) const override { return memory_.read(into, offset); }
  Status write(size_t offset, std::span<const std::byte> from) override { return memory_.write(from, offset); }
  Status intact() const override { return {}; }  // reported by read() and write()

 private:
  gpu::cuda::CudaMemory memory_;
};

Result<gpu::cuda::CudaContext> gpu(uint64_t device) {
  RIDGE_ASSIGN(gpu::cuda::Cuda driver, gpu::cuda::Cuda::open());
  return driver.context(device);
}

}  // namespace

Result<std::shared_ptr<Region>> open_cuda_region(const RegionRequest& request) {
  const std::string doing = fmt::format("failed to register CUDA shared memory region: '{}'", request.name);
  if (request.byte_size == 0) return invalid(doing + ": byte_size must be above 0");
  Result<gpu::cuda::CudaContext> context = gpu(request.device);
  if (!context) return wrap({Code::kUnsupported, context.error().message}, doing);
  gpu::cuda::CudaShareHandle handle{};
  assert(request.handle.size() == handle.size());
  std::copy(request.handle.begin(), request.handle.end(), handle.begin());
  Result<gpu::cuda::CudaMemory> memory = gpu::cuda::CudaMemory::open_shared(*context, handle, request.byte_size);
  if (!memory) return wrap(std::move(memory).error(), doing);
  return std::shared_ptr<Region>(std::make_shared<CudaRegion>(std::move(*memory)));
}

}  // namespace ridge::serve
