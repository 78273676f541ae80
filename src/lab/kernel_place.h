// A case made ready on a device that runs kernels: what OpenCL and CUDA do alike. Workspace: gpu::opencl::OpenClWorkspace or
// gpu::cuda::CudaSteps.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gpu/launch.h"
#include "lab/device.h"
#include "lab/kernels.h"

namespace ridge::lab {

template <typename Workspace>
class KernelPlace : public Place {
 public:
  // How full a multiprocessor can be of a launch; empty where that is not known.
  using ResidencyOf = std::function<std::optional<Residency>(const Workspace&, const gpu::Launch&)>;

  KernelPlace(Workspace workspace, Counted counted, ResidencyOf residency_of)
      : workspace_(std::move(workspace)), counted_(counted), residency_of_(std::move(residency_of)) {}

  // A place with the case's buffers and kernels.
  static Result<std::unique_ptr<Place>> prepare(Result<Workspace> workspace, const Case& work,
                                                ResidencyOf residency_of = {}) {
    if (!workspace) return workspace.error();
    auto place = std::make_unique<KernelPlace>(std::move(*workspace), work.counted, std::move(residency_of));
    for (size_t i = 0; i < work.buffers.size(); ++i)
      RIDGE_TRY(
          place->workspace_.add(work.buffers[i], i < work.memory.size() ? work.memory[i] : gpu::MemoryKind::kDevice));
    if (work.kernels.empty()) return std::unique_ptr<Place>(std::move(place));
    Status built = place->workspace_.build(kernel_source(work.kernels));
    if (!built) return wrap(built.error(), "kernels/" + work.kernels + ".cu");
    return std::unique_ptr<Place>(std::move(place));
  }
  Result<double> seconds(const Variant& variant, int repeats) override {
    RIDGE_ASSIGN(gpu::LaunchTime time, run(variant, repeats));
    return counted_ == Counted::kDevice ? time.device_seconds : time.whole_seconds;
  }
  std::optional<Residency> residency(const Variant& variant) const override {
    if (!residency_of_ || variant.launches.empty()) return std::nullopt;
    return residency_of_(workspace_, variant.launches.front());
  }
  Status put(size_t buffer, std::span<const float> content) override { return workspace_.write({buffer}, content); }
  Status get(size_t buffer, std::span<float> content) override { return workspace_.read({buffer}, content); }

 private:
  Result<gpu::LaunchTime> run(const Variant& variant, int repeats) {
    if (variant.recorded) return workspace_.run_recorded(variant.launches, repeats);
    return variant.steps.empty() ? workspace_.run(variant.launches, repeats) : workspace_.run(variant.steps, repeats);
  }
  Workspace workspace_;
  Counted counted_;
  ResidencyOf residency_of_;
};

}  // namespace ridge::lab
