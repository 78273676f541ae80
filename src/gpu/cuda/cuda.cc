#include "gpu/cuda/cuda.h"

#include <fmt/format.h>

#include "gpu/cuda/abi.h"
#include "gpu/cuda/device.h"
#include "gpu/cuda/error.h"
#include "gpu/device_name.h"

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

Result<CudaContext> Cuda::context(size_t index) const {
  RIDGE_TRY(check_device_index(index, devices_.size(), "CUDA"));
  if (!devices_[index].problem.empty())
    return Error{Code::kUnavailable, fmt::format("CUDA device {}: {}", index, devices_[index].problem)};
  cuda::Device device = 0;
  RIDGE_TRY(cuda_status(*library_, "cuDeviceGet", library_->cuDeviceGet(&device, static_cast<int>(index))));
  return CudaContext::retain(library_, device);
}

Result<CudaWorkspace> Cuda::workspace(size_t index) const {
  RIDGE_ASSIGN(CudaContext place, context(index));
  return CudaWorkspace::open(place, devices_[index].capability, driver_version_ / 1000);
}

}  // namespace ridge::gpu::cuda
