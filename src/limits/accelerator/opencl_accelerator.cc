#include "limits/accelerator/opencl_accelerator.h"

#include <fmt/format.h>

#include "gpu/device_name.h"
#include "gpu/opencl/link.h"
#include "limits/accelerator/kernels.h"

namespace ridge::limits::accelerator {
namespace {

class OpenClRoom : public DeviceContext {
 public:
  explicit OpenClRoom(gpu::opencl::OpenClWorkspace workspace) : workspace_(std::move(workspace)) {}
  Result<gpu::BufferNumber> add_bytes(size_t size) override { return workspace_.add_bytes(size); }
  Status read(gpu::BufferNumber buffer, std::span<float> content) const override {
    return workspace_.read(buffer, content);
  }
  Result<gpu::LaunchTime> run(std::span<const gpu::Launch> launches, int repeats) override {
    return workspace_.run(launches, repeats);
  }
  Result<double> copy(gpu::BufferNumber from, gpu::BufferNumber to, size_t bytes) override {
    return workspace_.copy(from, to, bytes);
  }

 private:
  gpu::opencl::OpenClWorkspace workspace_;
};

class OpenClWayToHost : public Link {
 public:
  explicit OpenClWayToHost(gpu::opencl::OpenClLink link) : link_(std::move(link)) {}
  size_t bytes() const override { return link_.bytes(); }
  Result<double> seconds(gpu::Way way, gpu::HostMemory memory) override { return link_.seconds(way, memory); }
  Status check(gpu::HostMemory memory) override { return link_.check(memory); }

 private:
  gpu::opencl::OpenClLink link_;
};

class OpenClAccelerator : public Accelerator {
 public:
  OpenClAccelerator(gpu::opencl::OpenCl opencl, size_t index)
      : opencl_(std::move(opencl)), index_(index), facts_(facts_of(opencl_.devices()[index], index)) {}
  const Facts& facts() const override { return facts_; }
  Result<std::unique_ptr<DeviceContext>> prepare(const std::string& source) override {
    RIDGE_ASSIGN(gpu::opencl::OpenClWorkspace workspace, opencl_.workspace(index_));
    RIDGE_TRY(workspace.build(source));
    return std::unique_ptr<DeviceContext>(std::make_unique<OpenClRoom>(std::move(workspace)));
  }
  Result<std::unique_ptr<Link>> link(size_t bytes) override {
    RIDGE_ASSIGN(gpu::opencl::OpenClLink link, opencl_.link(index_, bytes));
    return std::unique_ptr<Link>(std::make_unique<OpenClWayToHost>(std::move(link)));
  }
  Result<std::vector<Starting>> startings() override;
  Result<std::unique_ptr<Products>> products() override {
    return Error{Code::kUnsupported, "OpenCL has no library of matrix multiplications of its own"};
  }

 private:
  gpu::opencl::OpenCl opencl_;
  size_t index_;
  Facts facts_;
};

// A workspace whose launches the device does not time, and the launch of nothing in it.
struct EmptyLaunch {
  gpu::opencl::OpenClWorkspace workspace;
  gpu::Launch launch;
  Result<double> seconds(int repeats) {
    RIDGE_ASSIGN(gpu::LaunchTime time, workspace.run({&launch, 1}, repeats));
    return time.whole_seconds;
  }
};

Result<std::vector<Starting>> OpenClAccelerator::startings() {
  RIDGE_ASSIGN(gpu::opencl::OpenClWorkspace workspace, opencl_.workspace(index_, gpu::opencl::OpenClTiming::kByHost));
  RIDGE_TRY(workspace.build(kernel_source("", {"launch"})));
  RIDGE_ASSIGN(gpu::BufferNumber untouched, workspace.add_bytes(sizeof(int32_t)));
  auto empty =
      std::make_shared<EmptyLaunch>(EmptyLaunch{std::move(workspace), gpu::Launch{"nothing", {1}, {1}, {untouched}}});
  auto waited = [empty](int64_t starts) -> Result<double> {
    double sum = 0;
    for (int64_t i = 0; i < starts; ++i) {
      RIDGE_ASSIGN(double seconds, empty->seconds(1));
      sum += seconds;
    }
    return sum;
  };
  auto queued = [empty](int64_t starts) { return empty->seconds(static_cast<int>(starts)); };
  return std::vector<Starting>{
      {"kernel, waited for", "one empty kernel queued and waited for: latency as the host sees it", waited},
      {"kernel, queued", "empty kernels queued one after another, then waited for: time per kernel", queued}};
}

}  // namespace

Facts facts_of(const gpu::opencl::OpenClDevice& device, size_t index) {
  Facts facts;
  facts.device = fmt::format("opencl:{}", index);
  facts.name = device.name;
  facts.kind = device.kind;
  facts.software = fmt::format("{} {} ({})", device.platform, device.driver, device.version);
  facts.pci_address = device.pci_address;
  facts.compute_units = device.compute_units;
  facts.threads_per_block = device.threads_per_block;
  facts.memory_bytes = device.memory_bytes;
  facts.largest_buffer_bytes = device.largest_buffer_bytes;
  facts.last_cache_bytes = device.cache_bytes;
  facts.clock_hz = device.clock_hz;
  facts.fp64_lanes = device.fp64_lanes;
  facts.fp32_lanes = device.fp32_lanes;
  facts.fp16_lanes = device.fp16_lanes;
  facts.integer_dot = device.integer_dot;
  return facts;
}

Result<std::unique_ptr<Accelerator>> open_opencl_accelerator(size_t index) {
  RIDGE_ASSIGN(gpu::opencl::OpenCl opencl, gpu::opencl::OpenCl::open());
  RIDGE_TRY(gpu::check_device_index(index, opencl.devices().size(), "OpenCL"));
  return std::unique_ptr<Accelerator>(std::make_unique<OpenClAccelerator>(std::move(opencl), index));
}

}  // namespace ridge::limits::accelerator
