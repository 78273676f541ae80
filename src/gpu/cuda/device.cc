#include "gpu/cuda/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "gpu/cuda/abi.h"
#include "gpu/cuda/error.h"

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

}  // namespace

std::string capability_text(const CudaDevice& device) {
  return fmt::format("{}.{}", device.capability / 10, device.capability % 10);
}

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

}  // namespace ridge::gpu::cuda
