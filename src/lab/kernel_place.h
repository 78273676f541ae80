// A case made ready on a device that runs kernels: what OpenCL and CUDA do alike. Workspace: gpu::OpenClWorkspace or
// gpu::CudaWorkspace.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "gpu/launch.h"
#include "lab/device.h"
#include "lab/kernels.h"

namespace ridge::lab {

template <typename Workspace>
class KernelPlace : public Place {
 public:
  KernelPlace(Workspace workspace, Counted counted) : workspace_(std::move(workspace)), counted_(counted) {}

  // A place with the case's buffers and kernels.
  static Result<std::unique_ptr<Place>> prepare(Result<Workspace> workspace, const Case& work) {
    if (!workspace) return workspace.error();
    auto place = std::make_unique<KernelPlace>(std::move(*workspace), work.counted);
    for (const std::vector<float>& content : work.buffers) RIDGE_TRY(place->workspace_.add(content));
    Status built = place->workspace_.build(kernel_source(work.kernels));
    if (!built) return wrap(built.error(), "kernels/" + work.kernels + ".cu");
    return std::unique_ptr<Place>(std::move(place));
  }
  Result<double> seconds(const Variant& variant, int repeats) override {
    RIDGE_ASSIGN(gpu::LaunchTime time, workspace_.run(variant.launches, repeats));
    return counted_ == Counted::kDevice ? time.device_seconds : time.whole_seconds;
  }
  Status put(size_t buffer, std::span<const float> content) override { return workspace_.write({buffer}, content); }
  Status get(size_t buffer, std::span<float> content) override { return workspace_.read({buffer}, content); }

 private:
  Workspace workspace_;
  Counted counted_;
};

}  // namespace ridge::lab
