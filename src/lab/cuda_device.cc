#include "lab/cuda_device.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "catalogue/capability.h"
#include "gpu/cuda/cublaslt.h"
#include "gpu/cuda/cuda.h"
#include "gpu/cuda/steps.h"
#include "lab/kernel_place.h"
#include "lab/occupancy.h"

namespace ridge::lab {
namespace {

class CudaLabDevice : public Device {
 public:
  CudaLabDevice(gpu::cuda::Cuda cuda, size_t index) : cuda_(std::move(cuda)), index_(index) {
    text_ = fmt::format("{} (compute capability {}.{}, driver of CUDA {})", device().name, device().capability / 10,
                        device().capability % 10, cuda_.driver_version_text());
    library_problem_ = why_without_library();
  }
  std::string_view kind() const override { return "cuda"; }
  const std::string& text() const override { return text_; }
  Json conditions() const override {
    Json json = gpu::cuda::to_json(device());
    json["driver_cuda"] = cuda_.driver_version_text();
    json["device"] = fmt::format("cuda:{}", index_);
    json["note"] = note();
    return json;
  }
  std::string_view note() const override { return library_problem_; }
  Target target() const override {
    Target target;
    target.last_cache_bytes = device().l2_bytes;
    target.threads_per_block = device().threads_per_block;
    target.unified_memory = device().managed_memory;
    target.architecture = device().capability;
    target.library = library_problem_.empty();
    return target;
  }
  Result<std::unique_ptr<Place>> prepare(const Case& work) override {
    RIDGE_ASSIGN(gpu::cuda::CudaWorkspace workspace, cuda_.workspace(index_));
    return KernelPlace<gpu::cuda::CudaSteps>::prepare(
        gpu::cuda::CudaSteps::over(std::move(workspace), cuda_.driver_version() / 1000), work,
        [this](const gpu::cuda::CudaSteps& steps, const gpu::Launch& launch) { return residency_of(steps, launch); });
  }

 private:
  const gpu::cuda::CudaDevice& device() const { return cuda_.devices()[index_]; }
  std::optional<Residency> residency_of(const gpu::cuda::CudaSteps& steps, const gpu::Launch& launch) const {
    auto kernel = steps.kernel(launch.kernel);
    auto all = catalogue::capabilities();
    if (!kernel || !all) return std::nullopt;
    auto use = kernel->use();
    auto capability = catalogue::find_capability(*all, std::to_string(device().capability));
    if (!use || !capability) return std::nullopt;
    const gpu::Extent& threads = launch.threads;
    auto resident = occupancy(
        *capability, {static_cast<int>(threads.x * threads.y * threads.z), use->registers,
                      static_cast<double>(use->shared_bytes) + static_cast<double>(launch.dynamic_shared_bytes)});
    if (!resident) return std::nullopt;
    return Residency{use->registers, resident->percent};
  }
  std::string why_without_library() const {
    Result<gpu::cuda::CudaContext> context = cuda_.context(index_);
    if (!context) return context.error().message;
    Result<gpu::cuda::CublasLt> library = gpu::cuda::CublasLt::open(*context, "", cuda_.driver_version() / 1000);
    return library ? "" : "nothing is compared with the vendor's matrix multiplications: " + library.error().message;
  }
  gpu::cuda::Cuda cuda_;
  size_t index_;
  std::string text_, library_problem_;
};

}  // namespace

Result<std::unique_ptr<Device>> open_cuda_device(size_t index) {
  RIDGE_ASSIGN(gpu::cuda::Cuda cuda, gpu::cuda::Cuda::open());
  RIDGE_ASSIGN([[maybe_unused]] gpu::cuda::CudaContext usable, cuda.context(index));
  return std::unique_ptr<Device>(std::make_unique<CudaLabDevice>(std::move(cuda), index));
}

}  // namespace ridge::lab
