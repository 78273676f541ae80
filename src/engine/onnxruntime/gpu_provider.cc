#include "engine/onnxruntime/gpu_provider.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "engine/onnxruntime/gpu_error.h"
#include "engine/onnxruntime/handles.h"
#include "engine/onnxruntime/nvidia_packages.h"
#include "gpu/cuda/cuda.h"
#include "gpu/needed_libraries.h"
#include "gpu/nvml/nvml.h"

namespace ridge::engine::onnxruntime {
namespace {

using CudaOptionsHandle = Handle<OrtCUDAProviderOptionsV2, &OrtApi::ReleaseCUDAProviderOptions>;
using TensorRtOptionsHandle = Handle<OrtTensorRTProviderOptionsV2, &OrtApi::ReleaseTensorRTProviderOptions>;

// All at once: each update restarts from the defaults. An error names the wrong entry.
template <typename Options, typename Update>
Status update(const OrtApi& api, Options* options, ProviderOptions entries, int index, Update update_all) {
  entries["device_id"] = std::to_string(index);
  std::vector<const char*> keys, values;
  for (const auto& [key, value] : entries) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
  return take(api, update_all(options, keys.data(), values.data(), keys.size()));
}

Status append_cuda(const OrtApi& api, OrtSessionOptions* session, const ProviderOptions& entries, int index,
                   void* stream) {
  CudaOptionsHandle options(api);
  RIDGE_TRY(take(api, api.CreateCUDAProviderOptions(options.out())));
  RIDGE_TRY(update(api, options.get(), entries, index, api.UpdateCUDAProviderOptions));
  if (stream != nullptr)
    RIDGE_TRY(take(api, api.UpdateCUDAProviderOptionsWithValue(options.get(), "user_compute_stream", stream)));
  return take(api, api.SessionOptionsAppendExecutionProvider_CUDA_V2(session, options.get()));
}

Status append_tensorrt(const OrtApi& api, OrtSessionOptions* session, const ProviderOptions& entries, int index,
                       void* stream) {
  TensorRtOptionsHandle options(api);
  RIDGE_TRY(take(api, api.CreateTensorRTProviderOptions(options.out())));
  RIDGE_TRY(update(api, options.get(), entries, index, api.UpdateTensorRTProviderOptions));
  if (stream != nullptr)
    RIDGE_TRY(take(api, api.UpdateTensorRTProviderOptionsWithValue(options.get(), "user_compute_stream", stream)));
  return take(api, api.SessionOptionsAppendExecutionProvider_TensorRT_V2(session, options.get()));
}

// It lies beside the runtime, whose other name may be a link to it.
std::string provider_library(const Library& library, const plan::Device& device) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(library.path, error);
  const std::filesystem::path folder = (error ? std::filesystem::path(library.path) : real).parent_path();
  const bool tensorrt = device.kind == plan::DeviceKind::kTensorRt;
  return (folder / (tensorrt ? "libonnxruntime_providers_tensorrt.so" : "libonnxruntime_providers_cuda.so")).string();
}

bool is_compiled(const Library& library, const plan::Device& device) {
  const GpuProvider provider = provider_of(device.kind);
  return std::find(library.providers.begin(), library.providers.end(), provider_name(provider)) !=
         library.providers.end();
}

// The driver's version comes from NVML; the GPUs in CUDA's numbering from the driver.
void add_driver(GpuFacts& facts) {
  if (const Result<gpu::nvml::Nvml> nvml = gpu::nvml::Nvml::open()) {
    const gpu::GpuSystem system = nvml->system();
    if (system.driver_version) facts.driver = *system.driver_version;
    facts.driver_reason = system.driver_version.reason;
  } else {
    facts.driver_reason = nvml.error().message;
  }
  const Result<gpu::cuda::Cuda> cuda = gpu::cuda::Cuda::open();
  if (!cuda) return;
  for (const gpu::cuda::CudaDevice& gpu : cuda->devices())
    facts.gpus.push_back(
        {gpu.name,
         gpu.capability == 0 ? "" : std::to_string(gpu.capability / 10) + "." + std::to_string(gpu.capability % 10)});
}

}  // namespace

Status check_compiled(const Library& library, const plan::Device& device) {
  if (is_compiled(library, device)) return {};
  return explain(library, device, Error{Code::kUnsupported, ""});
}

Status append_gpu(const Library& library, OrtSessionOptions* options, const plan::Device& device,
                  const EngineOptions& engine, void* stream) {
  RIDGE_TRY(check_compiled(library, device));
  const OrtApi& api = *library.api;
  const std::vector<std::string> folders = nvidia_folders(library.path);
  open_needed(provider_library(library, device), folders);
  if (device.kind == plan::DeviceKind::kTensorRt) {
    if (Status appended = append_tensorrt(api, options, engine.tensorrt, device.index, stream); !appended)
      return explain(library, device, appended.error());
  }
  if (Status appended = append_cuda(api, options, engine.cuda, device.index, stream); !appended)
    return explain(library, device, appended.error());
  return {};
}

Error explain(const Library& library, const plan::Device& device, const Error& error) {
  GpuFacts facts;
  facts.runtime = library.path;
  facts.version = library.version;
  facts.compiled = library.providers;
  facts.provider_library = provider_library(library, device);
  facts.engine_words = error.message.substr(0, error.message.find_last_not_of(" \n") + 1);
  open_needed(facts.provider_library, nvidia_folders(library.path));  // libraries in the packages are not missing
  if (is_compiled(library, device))
    if (const auto needed = gpu::needed_libraries(facts.provider_library))
      facts.missing = gpu::missing_libraries(*needed);
  add_driver(facts);
  return gpu_error(device, facts);
}

}  // namespace ridge::engine::onnxruntime
