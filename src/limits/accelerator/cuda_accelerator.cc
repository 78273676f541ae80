#include "limits/accelerator/cuda_accelerator.h"

#include <fmt/format.h>

#include "gpu/device_name.h"
#include "limits/accelerator/cuda_link.h"
#include "limits/accelerator/cuda_products.h"
#include "limits/accelerator/cuda_starts.h"

namespace ridge::limits::accelerator {
namespace {

class CudaRoom : public DeviceContext {
 public:
  CudaRoom(gpu::cuda::CudaWorkspace workspace, gpu::cuda::CudaEvent begin, gpu::cuda::CudaEvent end)
      : workspace_(std::move(workspace)), begin_(std::move(begin)), end_(std::move(end)) {}
  Result<gpu::BufferNumber> add_bytes(size_t size) override { return workspace_.add_bytes(size); }
  Status read(gpu::BufferNumber buffer, std::span<float> content) const override {
    return workspace_.read(buffer, content);
  }
  Result<gpu::LaunchTime> run(std::span<const gpu::Launch> launches, int repeats) override {
    return workspace_.run(launches, repeats);
  }
  Result<double> copy(gpu::BufferNumber from, gpu::BufferNumber to, size_t bytes) override {
    const gpu::cuda::CudaStream& stream = workspace_.stream();
    RIDGE_TRY(stream.record(begin_));
    RIDGE_TRY(stream.copy(workspace_.memory(to), workspace_.memory(from), bytes));
    RIDGE_TRY(stream.record(end_));
    RIDGE_TRY(stream.synchronize());
    return end_.seconds_since(begin_);
  }

 private:
  gpu::cuda::CudaWorkspace workspace_;
  gpu::cuda::CudaEvent begin_, end_;
};

class CudaAccelerator : public Accelerator {
 public:
  CudaAccelerator(gpu::cuda::Cuda cuda, size_t index, gpu::cuda::CudaContext context, Facts facts)
      : cuda_(std::move(cuda)), index_(index), context_(std::move(context)), facts_(std::move(facts)) {}
  const Facts& facts() const override { return facts_; }
  Result<std::unique_ptr<DeviceContext>> prepare(const std::string& source) override {
    RIDGE_ASSIGN(gpu::cuda::CudaWorkspace workspace, cuda_.workspace(index_));
    RIDGE_TRY(workspace.build(source));
    RIDGE_ASSIGN(gpu::cuda::CudaEvent begin, gpu::cuda::CudaEvent::create(context_));
    RIDGE_ASSIGN(gpu::cuda::CudaEvent end, gpu::cuda::CudaEvent::create(context_));
    return std::unique_ptr<DeviceContext>(
        std::make_unique<CudaRoom>(std::move(workspace), std::move(begin), std::move(end)));
  }
  Result<std::unique_ptr<Link>> link(size_t bytes) override { return open_cuda_link(context_, bytes); }
  Result<std::vector<Starting>> startings() override {
    RIDGE_ASSIGN(gpu::cuda::CudaWorkspace workspace, cuda_.workspace(index_));
    return cuda_startings(std::move(workspace));
  }
  Result<std::unique_ptr<Products>> products() override {
    RIDGE_ASSIGN(gpu::cuda::CudaWorkspace workspace, cuda_.workspace(index_));
    return open_cuda_products(std::move(workspace), cuda_.driver_version() / 1000);
  }

 private:
  gpu::cuda::Cuda cuda_;
  size_t index_;
  gpu::cuda::CudaContext context_;
  Facts facts_;
};

}  // namespace

Facts facts_of(const gpu::cuda::CudaDevice& device, size_t index) {
  Facts facts;
  facts.device = fmt::format("cuda:{}", index);
  facts.name = device.name;
  facts.dialect = Dialect::kCuda;
  facts.capability = fmt::format("{}.{}", device.capability / 10, device.capability % 10);
  facts.pci_address = device.pci_address;
  facts.uuid = device.uuid;
  facts.compute_units = device.multiprocessors;
  facts.threads_per_block = device.threads_per_block;
  facts.memory_bytes = facts.largest_buffer_bytes = device.memory_bytes;
  facts.last_cache_bytes = device.l2_bytes;
  facts.clock_hz = device.clock_hz;
  facts.fp64_lanes = facts.fp32_lanes = 1;
  // CUDA C++ Programming Guide, "Arithmetic Instructions": throughput per compute capability.
  facts.fp16_lanes = device.capability >= 53 ? 2 : 0;
  facts.bf16 = device.capability >= 80;
  facts.integer_dot = device.capability >= 61;
  return facts;
}

std::vector<Facts> facts_of(const gpu::cuda::Cuda& cuda) {
  std::vector<Facts> all;
  for (const gpu::cuda::CudaDevice& gpu : cuda.devices()) {
    all.push_back(facts_of(gpu, all.size()));
    all.back().software = "CUDA driver " + cuda.driver_version_text();
  }
  return all;
}

Status check_usable(const gpu::cuda::Cuda& cuda, size_t index) {
  RIDGE_TRY(gpu::check_device_index(index, cuda.devices().size(), "CUDA"));
  const gpu::cuda::CudaDevice& device = cuda.devices()[index];
  if (device.problem.empty()) return {};
  return Error{Code::kUnavailable, fmt::format("cuda:{} ({}): {}", index, device.name, device.problem)};
}

Result<std::unique_ptr<Accelerator>> open_cuda_accelerator(size_t index) {
  RIDGE_ASSIGN(gpu::cuda::Cuda cuda, gpu::cuda::Cuda::open());
  RIDGE_TRY(check_usable(cuda, index));
  Facts facts = facts_of(cuda)[index];
  RIDGE_ASSIGN(gpu::cuda::CudaContext context, cuda.context(index));
  // Other programs may hold most of it.
  RIDGE_ASSIGN(size_t free_bytes, context.free_bytes());
  facts.largest_buffer_bytes = static_cast<int64_t>(free_bytes / 4);
  return std::unique_ptr<Accelerator>(
      std::make_unique<CudaAccelerator>(std::move(cuda), index, std::move(context), std::move(facts)));
}

}  // namespace ridge::limits::accelerator
