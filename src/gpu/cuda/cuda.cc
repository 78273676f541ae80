#include "gpu/cuda/cuda.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "gpu/cuda/abi.h"
#include "gpu/cuda/device.h"
#include "gpu/cuda/error.h"
#include "gpu/cuda/workspace.h"

namespace ridge::gpu::cuda {

std::string Cuda::driver_version_text() const {
  return fmt::format("{}.{}", driver_version_ / 1000, driver_version_ % 1000 / 10);
}

Result<Cuda> Cuda::open(const std::string& path) {
  RIDGE_ASSIGN(auto table, open_table<cuda::Library>(path, "RIDGE_CUDA", {"libcuda.so.1"}, "NVIDIA's driver"));
  // The driver keeps threads and handlers at exit that must not outlive its code.
  table->file.leak();
  Cuda opened(std::move(table));
  const cuda::Library& library = *opened.library_;
  RIDGE_TRY(cuda_status(library, "cuInit", library.cuInit(0)));
  RIDGE_TRY(cuda_status(library, "cuDriverGetVersion", library.cuDriverGetVersion(&opened.driver_version_)));
  int count = 0;
  RIDGE_TRY(cuda_status(library, "cuDeviceGetCount", library.cuDeviceGetCount(&count)));
  if (count == 0) return cuda_error(library, "cuDeviceGetCount", cuda::kNoDevice);
  for (int i = 0; i < count; ++i) opened.devices_.push_back(describe_device(library, i));
  return opened;
}

std::vector<DeviceFacts> Cuda::facts() const {
  std::vector<DeviceFacts> all;
  for (const CudaDevice& gpu : devices_) {
    DeviceFacts& facts = all.emplace_back();
    facts.device = fmt::format("cuda:{}", all.size() - 1);
    facts.name = gpu.name;
    facts.software = "CUDA driver " + driver_version_text();
    facts.dialect = Dialect::kCuda;
    facts.capability = capability_text(gpu);
    facts.pci_address = gpu.pci_address;
    facts.uuid = gpu.uuid;
    facts.compute_units = gpu.multiprocessors;
    facts.threads_per_block = gpu.threads_per_block;
    facts.memory_bytes = facts.largest_buffer_bytes = gpu.memory_bytes;
    facts.last_cache_bytes = gpu.l2_bytes;
    facts.clock_hz = gpu.clock_hz;
    facts.unified_memory = gpu.managed_memory;
    facts.fp64_lanes = facts.fp32_lanes = 1;
    // CUDA C++ Programming Guide, "Arithmetic Instructions": throughput per compute capability.
    facts.fp16_lanes = gpu.capability >= 53 ? 2 : 0;
    facts.bf16 = gpu.capability >= 80;
    facts.integer_dot = gpu.capability >= 61;
  }
  return all;
}

Status Cuda::check_usable(size_t index) const {
  RIDGE_TRY(check_device_index(index, devices_.size(), "CUDA"));
  const CudaDevice& gpu = devices_[index];
  if (gpu.problem.empty()) return {};
  return Error{Code::kUnavailable, fmt::format("cuda:{} ({}): {}", index, gpu.name, gpu.problem)};
}

Result<CudaContext> Cuda::context(size_t index) const {
  RIDGE_TRY(check_usable(index));
  cuda::Device device = 0;
  RIDGE_TRY(cuda_status(*library_, "cuDeviceGet", library_->cuDeviceGet(&device, static_cast<int>(index))));
  return CudaContext::retain(library_, device);
}

Result<gpu::Device> Cuda::device(size_t index) const {
  RIDGE_ASSIGN(const CudaContext primary, context(index));
  gpu::Device device;
  device.facts = facts()[index];
  // Other programs may use most of it.
  RIDGE_ASSIGN(const size_t free_bytes, primary.free_bytes());
  device.facts.largest_buffer_bytes = static_cast<int64_t>(free_bytes / 4);
  device.details = [gpu = devices_[index], version = driver_version_text()] {
    Json json = json_of(gpu);
    json["driver_cuda"] = version;
    return json;
  };
  device.open_workspace = [primary, gpu = devices_[index], newest = driver_version_ / 1000](Timing timing) {
    return CudaWorkspace::open(primary, gpu, newest, timing);
  };
  return device;
}

}  // namespace ridge::gpu::cuda
