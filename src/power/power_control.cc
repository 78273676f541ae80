#include "power/power_control.h"

#include <fmt/format.h>

#include "gpu/nvml/nvml.h"
#include "power/packages.h"

namespace ridge::power {
namespace {

// An NVIDIA GPU.
class NvidiaPowerControl : public PowerControl {
 public:
  NvidiaPowerControl(std::shared_ptr<const gpu::nvml::Nvml> library, const gpu::Gpu& gpu)
      : library_(std::move(library)), index_(gpu.index), id_(gpu.uuid ? *gpu.uuid : fmt::format("{}", gpu.index)) {
    name_ = fmt::format("GPU {} ({})", index_, gpu.name ? *gpu.name : "unknown GPU");
  }
  const std::string& id() const override { return id_; }
  const std::string& name() const override { return name_; }
  Result<State> state() override {
    gpu::Gpu gpu = library_->vitals(index_);
    if (!gpu.failure.empty()) return Error{Code::kUnavailable, fmt::format("{}: {}", name_, gpu.failure)};
    return state_of(gpu);
  }
  Status set_limit(int64_t limit_mw) override { return library_->set_power_limit(index_, limit_mw); }

 private:
  std::shared_ptr<const gpu::nvml::Nvml> library_;
  int index_;
  std::string id_, name_;
};

// The GPU with this name; empty: the only one.
Result<std::unique_ptr<PowerControl>> open_gpu(const std::string& name) {
  Result<gpu::nvml::Nvml> opened = gpu::nvml::Nvml::open();
  if (!opened)
    return Error{
        opened.error().code,
        opened.error().message + "; power limits can be set on NVIDIA's GPUs, and with --device cpu on the CPU (RAPL)"};
  auto library = std::make_shared<const gpu::nvml::Nvml>(std::move(*opened));
  RIDGE_ASSIGN(const int count, library->count());
  if (count == 0) return Error{Code::kNotFound, "NVIDIA's driver runs but has no GPU"};
  if (name.empty() && count > 1) return invalid(fmt::format("there are {} GPUs: choose one with --device", count));
  std::string known;
  for (int i = 0; i < count; ++i) {
    const gpu::Gpu gpu = library->vitals(i);
    if (name.empty() || is_named(gpu, name))
      return std::unique_ptr<PowerControl>(std::make_unique<NvidiaPowerControl>(library, gpu));
    known += fmt::format("{}{} ({})", i == 0 ? "" : ", ", i, gpu.uuid ? *gpu.uuid : "does not answer");
  }
  return invalid(fmt::format("--device {}: there is no such GPU; there are {}", name, known));
}

}  // namespace

bool is_named(const gpu::Gpu& gpu, const std::string& name) {
  return name == std::to_string(gpu.index) || (gpu.uuid && name == *gpu.uuid) ||
         (gpu.pci_address && name == *gpu.pci_address);
}

Result<std::unique_ptr<PowerControl>> open_power_control(const std::string& name) {
  return name == kCpuId ? open_packages() : open_gpu(name);
}

}  // namespace ridge::power
