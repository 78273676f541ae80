#include "lab/opencl_device.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "gpu/device_name.h"
#include "gpu/opencl/opencl.h"
#include "lab/kernel_place.h"

namespace ridge::lab {
namespace {

class OpenClLabDevice : public Device {
 public:
  OpenClLabDevice(gpu::opencl::OpenCl opencl, size_t index) : opencl_(std::move(opencl)), index_(index) {
    const gpu::opencl::OpenClDevice& device = opencl_.devices()[index];
    text_ = fmt::format("{} ({} {}, {})", device.name, device.platform, device.driver, device.kind);
  }
  std::string_view kind() const override { return "opencl"; }
  const std::string& text() const override { return text_; }
  Json conditions() const override {
    Json json = gpu::opencl::to_json(opencl_.devices()[index_]);
    json["device"] = fmt::format("opencl:{}", index_);
    json["note"] = note();
    return json;
  }
  std::string_view note() const override {
    if (!runs_on_cpu()) return {};
    return "this device is a CPU, where a block of threads is a loop on one core; explanations by warps, banks "
           "and "
           "multiprocessors are those of a GPU";
  }
  Target target() const override {
    const gpu::opencl::OpenClDevice& device = opencl_.devices()[index_];
    Target target;
    target.last_cache_bytes = device.cache_bytes;
    target.threads_per_block = device.threads_per_block;
    target.cpu = runs_on_cpu();
    target.unified_memory = device.unified_memory;
    return target;
  }
  Result<std::unique_ptr<Place>> prepare(const Case& work) override {
    return KernelPlace<gpu::opencl::OpenClWorkspace>::prepare(opencl_.workspace(index_), work);
  }

 private:
  bool runs_on_cpu() const { return opencl_.devices()[index_].kind == "cpu"; }
  gpu::opencl::OpenCl opencl_;
  size_t index_;
  std::string text_;
};

}  // namespace

Result<std::unique_ptr<Device>> open_opencl_device(size_t index) {
  RIDGE_ASSIGN(gpu::opencl::OpenCl opencl, gpu::opencl::OpenCl::open());
  RIDGE_TRY(gpu::check_device_index(index, opencl.devices().size(), "OpenCL"));
  return std::unique_ptr<Device>(std::make_unique<OpenClLabDevice>(std::move(opencl), index));
}

}  // namespace ridge::lab
