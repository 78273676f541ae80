#include "gpu/cuda/cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <nlohmann/json.hpp>

#include "gpu/cuda/abi.h"
#include "gpu/cuda/error.h"
#include "gpu/cuda/workspace.h"

namespace ridge::gpu::cuda {
namespace {

// RFC 9562, section 4: 32 hexadecimal digits in groups of 8-4-4-4-12.
std::string uuid_text(const uint8_t (&bytes)[16]) {
  std::string text;
  for (uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  for (size_t dash : {8, 13, 18, 23}) text.insert(dash, "-");
  return text;
}

// Queries one property after another; the first failure is the device's problem.
class Questioner {
 public:
  Questioner(const cuda::Library& library, CudaDevice& device) : library_(library), device_(device) {}

  void ask(const char* function, int code) {
    if (code != cuda::kSuccess && device_.problem.empty())
      device_.problem = cuda_error(library_, function, code).message;
  }
  int64_t attribute(cuda::Device device, int which) {
    int value = 0;
    ask("cuDeviceGetAttribute", library_.cuDeviceGetAttribute(&value, which, device));
    return value;
  }
  // For attributes that an older driver refuses.
  int64_t attribute_or_none(cuda::Device device, int which) {
    int value = 0;
    return library_.cuDeviceGetAttribute(&value, which, device) == cuda::kSuccess ? value : 0;
  }

 private:
  const cuda::Library& library_;
  CudaDevice& device_;
};

void name_device(const cuda::Library& library, Questioner& questions, cuda::Device device, CudaDevice& result) {
  char text[256] = "";
  questions.ask("cuDeviceGetName", library.cuDeviceGetName(text, sizeof text - 1, device));
  result.name = text;
  char address[32] = "";
  questions.ask("cuDeviceGetPCIBusId", library.cuDeviceGetPCIBusId(address, sizeof address - 1, device));
  result.pci_address = address;
  std::transform(result.pci_address.begin(), result.pci_address.end(), result.pci_address.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  cuda::Uuid gpu{}, instance{};
  if (!library.cuDeviceGetUuid) return;
  questions.ask("cuDeviceGetUuid", library.cuDeviceGetUuid(&gpu, device));
  result.uuid = "GPU-" + uuid_text(gpu.bytes);
  // On a divided GPU the newer function returns the instance's, else the GPU's.
  if (library.cuDeviceGetUuid_v2 && library.cuDeviceGetUuid_v2(&instance, device) == cuda::kSuccess &&
      std::memcmp(&gpu, &instance, sizeof gpu) != 0)
    result.mig_uuid = "MIG-" + uuid_text(instance.bytes);
}

void read_numbers(Questioner& questions, cuda::Device device, CudaDevice& result) {
  const std::pair<int, int64_t*> numbers[] = {
      {cuda::kL2Bytes, &result.l2_bytes},
      {cuda::kMultiprocessors, &result.multiprocessors},
      {cuda::kWarpSize, &result.warp},
      {cuda::kThreadsPerBlock, &result.threads_per_block},
      {cuda::kThreadsPerMultiprocessor, &result.threads_per_multiprocessor},
      {cuda::kRegistersPerBlock, &result.registers_per_block},
      {cuda::kRegistersPerMultiprocessor, &result.registers_per_multiprocessor},
      {cuda::kSharedPerBlock, &result.shared_bytes_per_block},
      {cuda::kSharedPerBlockOptIn, &result.shared_bytes_per_block_opt_in},
      {cuda::kSharedPerMultiprocessor, &result.shared_bytes_per_multiprocessor},
      {cuda::kMemoryBusBits, &result.memory_bus_bits},
      {cuda::kAsyncEngines, &result.copy_engines},
  };
  for (auto [which, value] : numbers) *value = questions.attribute(device, which);
  result.capability = static_cast<int>(10 * questions.attribute(device, cuda::kCapabilityMajor) +
                                       questions.attribute(device, cuda::kCapabilityMinor));
  result.clock_hz = 1e3 * static_cast<double>(questions.attribute(device, cuda::kClockKhz));
  result.memory_clock_hz = 1e3 * static_cast<double>(questions.attribute(device, cuda::kMemoryClockKhz));
}

void read_abilities(Questioner& questions, cuda::Device device, CudaDevice& result) {
  result.integrated = questions.attribute(device, cuda::kIntegrated) != 0;
  result.unified_addressing = questions.attribute(device, cuda::kUnifiedAddressing) != 0;
  result.managed_memory = questions.attribute(device, cuda::kManagedMemory) != 0;
  result.concurrent_managed_access = questions.attribute(device, cuda::kConcurrentManagedAccess) != 0;
  result.ecc = questions.attribute(device, cuda::kEcc) != 0;
  result.exclusive = questions.attribute(device, cuda::kComputeMode) != 0;
  result.memory_pools = questions.attribute_or_none(device, cuda::kMemoryPools) != 0;
}

// A failure is the device's problem.
CudaDevice describe_device(const cuda::Library& library, int index) {
  CudaDevice result;
  Questioner questions(library, result);
  cuda::Device device = 0;
  questions.ask("cuDeviceGet", library.cuDeviceGet(&device, index));
  if (!result.problem.empty()) return result;
  name_device(library, questions, device, result);
  size_t bytes = 0;
  questions.ask("cuDeviceTotalMem_v2", library.cuDeviceTotalMem_v2(&bytes, device));
  result.memory_bytes = static_cast<int64_t>(bytes);
  read_numbers(questions, device, result);
  read_abilities(questions, device, result);
  return result;
}

}  // namespace

std::string capability_text(const CudaDevice& device) {
  return fmt::format("{}.{}", device.capability / 10, device.capability % 10);
}

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
