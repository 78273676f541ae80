#include "lab/cuda_device.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "gpu/cuda.h"
#include "lab/kernel_place.h"

namespace ridge::lab {
namespace {

class CudaLabDevice : public Device {
 public:
  CudaLabDevice(gpu::Cuda cuda, size_t index) : cuda_(std::move(cuda)), index_(index) {
    text_ = fmt::format("{} (compute capability {}.{}, driver of CUDA {})", device().name, device().capability / 10,
                        device().capability % 10, cuda_.driver_version_text());
  }
  std::string_view kind() const override { return "cuda"; }
  const std::string& text() const override { return text_; }
  Json conditions() const override {
    Json json = gpu::to_json(device());
    json["driver_cuda"] = cuda_.driver_version_text();
    json["device"] = fmt::format("cuda:{}", index_);
    json["note"] = note();
    return json;
  }
  Target target() const override {
    Target target;
    target.last_cache_bytes = device().l2_bytes;
    target.threads_per_block = device().threads_per_block;
    return target;
  }
  Result<std::unique_ptr<Place>> prepare(const Case& work) override {
    return KernelPlace<gpu::CudaWorkspace>::prepare(cuda_.workspace(index_), work);
  }

 private:
  const gpu::CudaDevice& device() const { return cuda_.devices()[index_]; }
  gpu::Cuda cuda_;
  size_t index_;
  std::string text_;
};

}  // namespace

Result<std::unique_ptr<Device>> open_cuda_device(size_t index) {
  RIDGE_ASSIGN(gpu::Cuda cuda, gpu::Cuda::open());
  RIDGE_ASSIGN([[maybe_unused]] gpu::CudaContext usable, cuda.context(index));
  return std::unique_ptr<Device>(std::make_unique<CudaLabDevice>(std::move(cuda), index));
}

}  // namespace ridge::lab
