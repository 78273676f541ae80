// A fake for NVIDIA's driver (libcuda.so.1) that plays the GPUs of a script and does their work on the CPU: memory is
// the CPU's, kernels are compiled and run by OpenCL (fake_cuda_cpu.h), and queued work is put off until it is
// waited for it (fake_cuda_gpu.h). So that everything that ridge does with a GPU runs on machines without one, with checked
// numbers. Loaded by RIDGE_CUDA=<this file>, together with the fake for NVRTC, which hands the source on as "machine
// code"; the script is the text file that RIDGE_FAKE_CUDA names.
// How a script is written: scripted_gpus.h; its `fail` lines give CUDA codes, the system tells cuda_version ("13.0"), a
// GPU what kAttributes names. "lost_after 3 719": the fourth kernel that runs answers 719, and everything after it. What
// older drivers lack is hidden by the maps in tests/support/cuda.
#include <algorithm>

#include "fake_cuda_state.h"

using namespace ridge;
using namespace ridge::gpu::cuda;
using namespace ridge::fake;

namespace {

const std::map<int, const char*> kAttributes = {
    {kThreadsPerBlock, "threads_per_block"},
    {kSharedPerBlock, "shared_bytes_per_block"},
    {kWarpSize, "warp"},
    {kRegistersPerBlock, "registers_per_block"},
    {kClockKhz, "clock_khz"},
    {kMultiprocessors, "multiprocessors"},
    {kIntegrated, "integrated"},
    {kComputeMode, "compute_mode"},
    {kEcc, "ecc"},
    {kMemoryClockKhz, "memory_clock_khz"},
    {kMemoryBusBits, "memory_bus_bits"},
    {kL2Bytes, "l2_bytes"},
    {kThreadsPerMultiprocessor, "threads_per_multiprocessor"},
    {kAsyncEngines, "copy_engines"},
    {kUnifiedAddressing, "unified_addressing"},
    {kSharedPerMultiprocessor, "shared_bytes_per_multiprocessor"},
    {kRegistersPerMultiprocessor, "registers_per_multiprocessor"},
    {kManagedMemory, "managed_memory"},
    {kConcurrentManagedAccess, "concurrent_managed_access"},
    {kSharedPerBlockOptIn, "shared_bytes_per_block_opt_in"},
    {kBlocksPerMultiprocessor, "blocks_per_multiprocessor"},
    {kMemoryPools, "memory_pools"},
};

int device_outcome(const char* function, Device device) {
  if (device < 0 || static_cast<size_t>(device) >= gpus().size()) return kInvalidDevice;
  return outcome(*gpus()[static_cast<size_t>(device)].part, function, int{kSuccess});
}
const Part& part_of(Device device) { return *gpus()[static_cast<size_t>(device)].part; }

int read_uuid(Device device, const char* key, Uuid* uuid) {
  std::string digits = text_of(part_of(device), key);
  digits.erase(std::remove(digits.begin(), digits.end(), '-'), digits.end());
  for (size_t i = 0; i < sizeof uuid->bytes && 2 * i + 1 < digits.size(); ++i)
    uuid->bytes[i] = static_cast<uint8_t>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  return kSuccess;
}

int capability_of(const Part& part) {
  std::string words = text_of(part, "compute_capability");
  words.erase(std::remove(words.begin(), words.end(), '.'), words.end());
  return std::atoi(words.c_str());
}

// "sm_90" machine code for this family's chips up to this one, or "compute_90" assembly for all later ones; then the source.
int check_image(const std::string& image, const Part& part) {
  const int capability = capability_of(part);
  int wanted = 0;
  if (std::sscanf(image.c_str(), "sm_%d\n", &wanted) == 1)
    return wanted / 10 == capability / 10 && wanted <= capability ? kSuccess : kNoBinaryForGpu;
  if (std::sscanf(image.c_str(), "compute_%d\n", &wanted) == 1) return wanted <= capability ? kSuccess : kInvalidPtx;
  return kInvalidImage;
}

}  // namespace

extern "C" {

#define ENTER_DEVICE(function) \
  LOCK;                        \
  if (int code = device_outcome(#function, device); code != kSuccess) return code

// For tests: objects that are alive.
EXPORT size_t fakeCudaObjects() {
  LOCK;
  size_t count = 0;
  for (const Gpu& this_gpu : gpus()) count += this_gpu.objects() + static_cast<size_t>(this_gpu.users);
  return count;
}

EXPORT int cuGetErrorName(int code, const char** name) {
  static const std::map<int, const char*> kNames = {{kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                    {kNoDevice, "CUDA_ERROR_NO_DEVICE"},
                                                    {kEccUncorrectable, "CUDA_ERROR_ECC_UNCORRECTABLE"},
                                                    {kDeviceUnavailable, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
                                                    {kNotPermitted, "CUDA_ERROR_NOT_PERMITTED"},
                                                    {kUnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
                                                    {kInvalidPtx, "CUDA_ERROR_INVALID_PTX"},
                                                    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
                                                    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"},
                                                    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"}};
  auto found = kNames.find(code);
  *name = found == kNames.end() ? "CUDA_ERROR_OF_ANOTHER_KIND" : found->second;
  return kSuccess;
}
EXPORT int cuGetErrorString(int code, const char** words) {
  *words = code == kOutOfMemory ? "out of memory" : code == kNoDevice ? "no CUDA-capable device is detected" : "error";
  return kSuccess;
}
EXPORT int cuInit(unsigned) {
  LOCK;
  if (int code = system_outcome("cuInit"); code != kSuccess) return code;
  return gpus().empty() ? kNoDevice : kSuccess;
}
EXPORT int cuDriverGetVersion(int* version) {
  int major = 0, minor = 0;
  std::sscanf(text_of(cuda_script().system, "cuda_version").c_str(), "%d.%d", &major, &minor);
  *version = 1000 * major + 10 * minor;
  return system_outcome("cuDriverGetVersion");
}
EXPORT int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(gpus().size());
  return system_outcome("cuDeviceGetCount");
}
EXPORT int cuDeviceGet(Device* device, int index) {
  *device = index;
  return device_outcome("cuDeviceGet", index);
}
EXPORT int cuDeviceGetName(char* name, int size, Device device) {
  ENTER_DEVICE(cuDeviceGetName);
  std::snprintf(name, static_cast<size_t>(size), "%s", text_of(part_of(device), "name").c_str());
  return kSuccess;
}
EXPORT int cuDeviceGetPCIBusId(char* address, int size, Device device) {
  ENTER_DEVICE(cuDeviceGetPCIBusId);
  std::snprintf(address, static_cast<size_t>(size), "%s", text_of(part_of(device), "pci_address").c_str());
  return kSuccess;
}
EXPORT int cuDeviceGetUuid(Uuid* uuid, Device device) {
  ENTER_DEVICE(cuDeviceGetUuid);
  return read_uuid(device, "uuid", uuid);
}
EXPORT int cuDeviceTotalMem_v2(size_t* bytes, Device device) {
  ENTER_DEVICE(cuDeviceTotalMem_v2);
  *bytes = number_of(part_of(device), "memory_total_bytes");
  return kSuccess;
}
EXPORT int cuDeviceGetAttribute(int* value, int attribute, Device device) {
  ENTER_DEVICE(cuDeviceGetAttribute);
  const int capability = capability_of(part_of(device));
  if (attribute == kCapabilityMajor) return *value = capability / 10, kSuccess;
  if (attribute == kCapabilityMinor) return *value = capability % 10, kSuccess;
  auto found = kAttributes.find(attribute);
  if (found == kAttributes.end() || !says(part_of(device), found->second)) return kInvalidValue;
  *value = static_cast<int>(number_of(part_of(device), found->second));
  return kSuccess;
}

EXPORT int cuDevicePrimaryCtxRetain(Handle* context, Device device) {
  ENTER_DEVICE(cuDevicePrimaryCtxRetain);
  Gpu& this_gpu = gpus()[static_cast<size_t>(device)];
  ++this_gpu.users;
  *context = &this_gpu;
  return kSuccess;
}
EXPORT int cuDevicePrimaryCtxRelease(Device device) {
  LOCK;
  Gpu& this_gpu = gpus()[static_cast<size_t>(device)];
  this_gpu.drain_all();
  --this_gpu.users;
  return kSuccess;
}
EXPORT int cuCtxSetCurrent(Handle context) {
  current = static_cast<Gpu*>(context);
  return kSuccess;
}

EXPORT int cuModuleLoadDataEx(Handle* module, const void* image, unsigned count, int* options, void** values) {
  ENTER(cuModuleLoadDataEx);
  const std::string text = static_cast<const char*>(image);
  if (int code = check_image(text, *current->part); code != kSuccess) return code;
  if (!cpu().ready()) return kNoPtxCompiler;
  Module made{current, {}};
  std::string log;
  if (cpu().build(text.substr(text.find('\n') + 1), made.program, log)) {
    *module = keep(current->modules, std::move(made));
    return kSuccess;
  }
  char* room = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == kErrorLog) room = static_cast<char*>(values[i]);
    if (options[i] == kErrorLogBytes) size = reinterpret_cast<size_t>(values[i]);
  }
  if (room != nullptr && size > 0) std::snprintf(room, size, "%s", log.c_str());
  return kInvalidPtx;
}
EXPORT int cuModuleUnload(Handle handle) {
  ENTER(cuModuleUnload);
  Module* module = known(current->modules, handle);
  if (module == nullptr) return kInvalidHandle;
  current->drain_all();
  for (auto& [name, kernel] : module->program.kernels) current->functions.erase(&kernel);
  forget(current->modules, handle);
  return kSuccess;
}
EXPORT int cuModuleGetFunction(Handle* function, Handle handle, const char* name) {
  ENTER(cuModuleGetFunction);
  Module* module = known(current->modules, handle);
  if (module == nullptr) return kInvalidHandle;
  Kernel* kernel = cpu().kernel(module->program, name);
  if (kernel == nullptr) return kNotFound;
  std::unique_ptr<Function>& made = current->functions[kernel];
  if (!made) made = std::make_unique<Function>(Function{current, kernel});
  *function = made.get();
  return kSuccess;
}
EXPORT int cuFuncGetAttribute(int* value, int attribute, Handle function) {
  ENTER(cuFuncGetAttribute);
  const Kernel& kernel = *static_cast<Function*>(function)->kernel;
  switch (attribute) {
    case kMostThreadsPerBlock: return *value = 1024, kSuccess;
    case kStaticSharedBytes: return *value = kernel.shared_bytes, kSuccess;
    case kLocalBytes: return *value = 0, kSuccess;
    case kRegisters: return *value = 32, kSuccess;
    case kMostDynamicSharedBytes: return *value = kernel.dynamic_shared_allowed, kSuccess;
    default: return kInvalidValue;
  }
}
EXPORT int cuFuncSetAttribute(Handle function, int attribute, int value) {
  ENTER(cuFuncSetAttribute);
  Kernel& kernel = *static_cast<Function*>(function)->kernel;
  const auto most = static_cast<int>(number_of(*current->part, "shared_bytes_per_block_opt_in"));
  if (attribute != kMostDynamicSharedBytes || value + kernel.shared_bytes > most) return kInvalidValue;
  kernel.dynamic_shared_allowed = value;
  return kSuccess;
}
// By threads and shared memory alone.
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Handle function, int threads, size_t shared) {
  ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor);
  const Part& part = *current->part;
  size_t most = number_of(part, "threads_per_multiprocessor") / static_cast<size_t>(threads);
  shared += static_cast<size_t>(static_cast<Function*>(function)->kernel->shared_bytes);
  if (shared > 0) most = std::min<size_t>(most, number_of(part, "shared_bytes_per_multiprocessor") / shared);
  *blocks = static_cast<int>(most);
  return kSuccess;
}

EXPORT int cuDeviceGetUuid_v2(Uuid* uuid, Device device) {
  ENTER_DEVICE(cuDeviceGetUuid_v2);
  return read_uuid(device, says(part_of(device), "mig_uuid") ? "mig_uuid" : "uuid", uuid);
}
EXPORT int cuDevicePrimaryCtxRelease_v2(Device device) { return cuDevicePrimaryCtxRelease(device); }

}  // extern "C"

// As what ridge looks up, which tests/abi compares with NVIDIA's header.
#define SAME(name) static_assert(std::is_same_v<decltype(::name), decltype(ridge::gpu::cuda::Library::name)::Type>)
SAME(cuGetErrorName);
SAME(cuGetErrorString);
SAME(cuInit);
SAME(cuDriverGetVersion);
SAME(cuDeviceGetCount);
SAME(cuDeviceGet);
SAME(cuDeviceGetName);
SAME(cuDeviceGetPCIBusId);
SAME(cuDeviceGetUuid);
SAME(cuDeviceTotalMem_v2);
SAME(cuDeviceGetAttribute);
SAME(cuDevicePrimaryCtxRetain);
SAME(cuDevicePrimaryCtxRelease);
SAME(cuCtxSetCurrent);
SAME(cuModuleLoadDataEx);
SAME(cuModuleUnload);
SAME(cuModuleGetFunction);
SAME(cuFuncGetAttribute);
SAME(cuFuncSetAttribute);
SAME(cuOccupancyMaxActiveBlocksPerMultiprocessor);
SAME(cuDeviceGetUuid_v2);
SAME(cuDevicePrimaryCtxRelease_v2);
#undef SAME
