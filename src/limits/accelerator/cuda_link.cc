#include "limits/accelerator/cuda_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "base/tensor.h"
#include "gpu/cuda/memory.h"
#include "gpu/cuda/stream.h"

namespace ridge::limits::accelerator {
namespace {

// One direction, with memory on both sides.
struct CudaLane {
  gpu::cuda::CudaStream stream;
  gpu::cuda::CudaMemory device, pinned;
  Buffer pageable;

  std::span<std::byte> host(gpu::HostMemory memory) {
    return memory == gpu::HostMemory::kPinned ? pinned.bytes() : pageable.span();
  }
  Status send(gpu::HostMemory memory) { return stream.write(device, host(memory)); }
  Status fetch(gpu::HostMemory memory, const gpu::cuda::CudaMemory& from) { return stream.read(host(memory), from); }
};

Result<CudaLane> open_lane(const gpu::cuda::CudaContext& context, size_t bytes) {
  CudaLane lane;
  RIDGE_ASSIGN(lane.stream, gpu::cuda::CudaStream::create(context));
  RIDGE_ASSIGN(lane.device, gpu::cuda::CudaMemory::allocate(context, bytes));
  RIDGE_ASSIGN(lane.pinned, gpu::cuda::CudaMemory::allocate(context, bytes, gpu::cuda::CudaMemoryKind::kPinned));
  lane.pageable = Buffer(bytes);
  for (gpu::HostMemory memory : {gpu::HostMemory::kPageable, gpu::HostMemory::kPinned})
    std::ranges::fill(lane.host(memory), std::byte{0});  // touched: pages that are not there would be timed else
  return lane;
}

class CudaLink : public Link {
 public:
  CudaLink(gpu::cuda::CudaContext context, CudaLane to_device, CudaLane to_host)
      : context_(std::move(context)), to_device_(std::move(to_device)), to_host_(std::move(to_host)) {}
  size_t bytes() const override { return to_device_.device.size(); }

  Result<double> seconds(gpu::Way way, gpu::HostMemory memory) override {
    RIDGE_TRY(context_.use());
    const TimePoint begin = SteadyClock::now();
    if (way == gpu::Way::kBoth && memory == gpu::HostMemory::kPageable) {
      RIDGE_TRY(both_in_two_threads());
      return to_seconds(SteadyClock::now() - begin);
    }
    if (way != gpu::Way::kToHost) RIDGE_TRY(to_device_.send(memory));
    if (way != gpu::Way::kToDevice) RIDGE_TRY(to_host_.fetch(memory, to_host_.device));
    if (way != gpu::Way::kToHost) RIDGE_TRY(to_device_.stream.synchronize());
    if (way != gpu::Way::kToDevice) RIDGE_TRY(to_host_.stream.synchronize());
    return to_seconds(SteadyClock::now() - begin);
  }

  Status check(gpu::HostMemory memory) override {
    RIDGE_TRY(context_.use());
    std::span<std::byte> sent = to_device_.host(memory), got = to_host_.host(memory);
    for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>((i * 31 + i / 4096) & 0xFF);
    std::ranges::fill(got, std::byte{0});
    RIDGE_TRY(to_device_.send(memory));
    RIDGE_TRY(to_device_.stream.synchronize());
    RIDGE_TRY(to_host_.fetch(memory, to_device_.device));
    RIDGE_TRY(to_host_.stream.synchronize());
    if (std::ranges::equal(sent, got)) return {};
    return Error{Code::kFailed, fmt::format("{} bytes of {} memory came back from the GPU changed", bytes(),
                                            gpu::host_memory_name(memory))};
  }

 private:
  Status both_in_two_threads() {
    Status fetched;
    {
      std::jthread other([&] {
        fetched = context_.use();
        if (fetched) fetched = to_host_.fetch(gpu::HostMemory::kPageable, to_host_.device);
        if (fetched) fetched = to_host_.stream.synchronize();
      });
      RIDGE_TRY(to_device_.send(gpu::HostMemory::kPageable));
      RIDGE_TRY(to_device_.stream.synchronize());
    }
    return fetched;
  }

  gpu::cuda::CudaContext context_;
  CudaLane to_device_, to_host_;
};

}  // namespace

Result<std::unique_ptr<Link>> open_cuda_link(const gpu::cuda::CudaContext& context, size_t bytes) {
  RIDGE_ASSIGN(CudaLane to_device, open_lane(context, bytes));
  RIDGE_ASSIGN(CudaLane to_host, open_lane(context, bytes));
  return std::unique_ptr<Link>(std::make_unique<CudaLink>(context, std::move(to_device), std::move(to_host)));
}

}  // namespace ridge::limits::accelerator
