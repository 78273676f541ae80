#include "engine/providers.h"

#include <algorithm>
#include <utility>

#include "engine/engines.h"
#include "engine/onnxruntime/gpu_options.h"
#include "engine/onnxruntime/library.h"
#include "engine/onnxruntime/provider_trial.h"
#include "gpu/cuda/cuda.h"

namespace ridge::engine {
namespace {

Error no_providers(const plan::Plan& plan) {
  return {Code::kUnsupported, "the engine '" + plan.engine + "' has no execution providers"};
}

// ONNX Runtime's names begin so (include/onnxruntime/core/graph/constants.h).
constexpr std::pair<std::string_view, std::string_view> kGpuVendors[] = {
    {"CUDA", "NVIDIA"}, {"Tensorrt", "NVIDIA"}, {"NvTensorRT", "NVIDIA"}, {"ROCM", "AMD"}, {"MIGraphX", "AMD"}};

}  // namespace

Result<std::vector<std::string>> compiled_providers(const plan::Plan& plan) {
  if (!named(plan.engine).has_providers) return no_providers(plan);
  RIDGE_ASSIGN(const onnxruntime::Library* library, onnxruntime::load(plan.engine_library));
  return library->providers;
}

std::string_view gpu_vendor_of(std::string_view provider) {
  for (const auto& [begin, vendor] : kGpuVendors)
    if (provider.starts_with(begin)) return vendor;
  return "";
}

Status try_provider(const plan::Plan& plan, const std::string& provider) {
  if (!named(plan.engine).has_providers) return no_providers(plan);
  RIDGE_ASSIGN(const onnxruntime::Library* library, onnxruntime::load(plan.engine_library));
  return onnxruntime::try_provider(*library, plan, provider);
}

std::vector<int> usable_gpus(const plan::Plan& plan) {
  const Result<std::vector<std::string>> providers = compiled_providers(plan);
  const std::string_view cuda = onnxruntime::provider_name(onnxruntime::GpuProvider::kCuda);
  if (!providers || std::find(providers->begin(), providers->end(), cuda) == providers->end()) return {};
  const Result<gpu::cuda::Cuda> driver = gpu::cuda::Cuda::open();
  std::vector<int> gpus;
  if (!driver) return gpus;
  for (size_t i = 0; i < driver->devices().size(); ++i)
    if (driver->devices()[i].problem.empty()) gpus.push_back(static_cast<int>(i));
  return gpus;
}

}  // namespace ridge::engine
