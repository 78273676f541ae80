// A fake of NVIDIA's driver (libcuda.so.1) with the GPUs of a script, whose work runs on the CPU: memory is the CPU's,
// kernels are compiled and run by OpenCL (fake_cuda_multiprocessor.h), and queued work is delayed until it is waited
// for (fake_cuda_device.h). So all of ridge's GPU code runs on machines without one, with checked numbers. Loaded by
// RIDGE_CUDA=<this file>, together with the fake of NVRTC, which passes the source on as "machine code"; the script is
// the text file named by RIDGE_FAKE_CUDA. Format: scripted_gpus.h; its `fail` lines give CUDA codes, the system has
// cuda_version ("13.0"), a GPU the names in kAttributes. "lost_after 3 719": the fourth kernel returns 719, and
// everything after it. The maps in tests/support/cuda hide what older drivers lack.
#include <algorithm>

#include "fake_cuda_state.h"

namespace {

const std::map<CUdevice_attribute, const char*> kAttributes = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, "threads_per_block"},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, "shared_bytes_per_block"},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, "warp"},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, "registers_per_block"},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, "clock_khz"},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, "multiprocessors"},
    {CU_DEVICE_ATTRIBUTE_INTEGRATED, "integrated"},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, "compute_mode"},
    {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, "ecc"},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, "memory_clock_khz"},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, "memory_bus_bits"},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, "l2_bytes"},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, "threads_per_multiprocessor"},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, "copy_engines"},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, "unified_addressing"},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, "shared_bytes_per_multiprocessor"},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, "registers_per_multiprocessor"},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, "managed_memory"},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, "concurrent_managed_access"},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, "shared_bytes_per_block_opt_in"},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, "blocks_per_multiprocessor"},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, "memory_pools"},
};

CUresult device_outcome(const char* function, CUdevice device) {
  if (device < 0 || static_cast<size_t>(device) >= gpus().size()) return CUDA_ERROR_INVALID_DEVICE;
  return outcome(*gpus()[static_cast<size_t>(device)].part, function, CUDA_SUCCESS);
}
const Part& part_of(CUdevice device) { return *gpus()[static_cast<size_t>(device)].part; }

CUresult read_uuid(CUdevice device, const char* key, CUuuid* uuid) {
  std::string digits = text_of(part_of(device), key);
  digits.erase(std::remove(digits.begin(), digits.end(), '-'), digits.end());
  for (size_t i = 0; i < sizeof uuid->bytes && 2 * i + 1 < digits.size(); ++i)
    uuid->bytes[i] = static_cast<char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  return CUDA_SUCCESS;
}

int capability_of(const Part& part) {
  std::string words = text_of(part, "compute_capability");
  words.erase(std::remove(words.begin(), words.end(), '.'), words.end());
  return std::atoi(words.c_str());
}

// "sm_90" machine code for this family's chips up to this one, or "compute_90" assembly for all later ones; then the
// source.
CUresult check_image(const std::string& image, const Part& part) {
  const int capability = capability_of(part);
  int wanted = 0;
  if (std::sscanf(image.c_str(), "sm_%d\n", &wanted) == 1)
    return wanted / 10 == capability / 10 && wanted <= capability ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (std::sscanf(image.c_str(), "compute_%d\n", &wanted) == 1)
    return wanted <= capability ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
  return CUDA_ERROR_INVALID_IMAGE;
}

}  // namespace

extern "C" {

#define ENTER_DEVICE(function) \
  LOCK;                        \
  if (CUresult code = device_outcome(#function, device); code != CUDA_SUCCESS) return code

EXPORT size_t fakeCudaObjects() {
  LOCK;
  size_t count = 0;
  for (const CUctx_st& this_gpu : gpus()) count += this_gpu.objects() + static_cast<size_t>(this_gpu.users);
  return count;
}

EXPORT CUresult cuGetErrorName(CUresult code, const char** name) {
  static const std::map<CUresult, const char*> kNames = {
      {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
      {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
      {CUDA_ERROR_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE"},
      {CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
      {CUDA_ERROR_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED"},
      {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
      {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX"},
      {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
      {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
      {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"}};
  auto found = kNames.find(code);
  *name = found == kNames.end() ? "CUDA_ERROR_OF_ANOTHER_KIND" : found->second;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuGetErrorString(CUresult code, const char** words) {
  *words = code == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory"
           : code == CUDA_ERROR_NO_DEVICE   ? "no CUDA-capable device is detected"
                                            : "error";
  return CUDA_SUCCESS;
}
EXPORT CUresult cuInit(unsigned) {
  LOCK;
  if (CUresult code = system_outcome("cuInit"); code != CUDA_SUCCESS) return code;
  return gpus().empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}
EXPORT CUresult cuDriverGetVersion(int* version) {
  int major = 0, minor = 0;
  std::sscanf(text_of(cuda_script().system, "cuda_version").c_str(), "%d.%d", &major, &minor);
  *version = 1000 * major + 10 * minor;
  return system_outcome("cuDriverGetVersion");
}
EXPORT CUresult cuDeviceGetCount(int* count) {
  *count = static_cast<int>(gpus().size());
  return system_outcome("cuDeviceGetCount");
}
EXPORT CUresult cuDeviceGet(CUdevice* device, int index) {
  *device = index;
  return device_outcome("cuDeviceGet", index);
}
EXPORT CUresult cuDeviceGetName(char* name, int size, CUdevice device) {
  ENTER_DEVICE(cuDeviceGetName);
  std::snprintf(name, static_cast<size_t>(size), "%s", text_of(part_of(device), "name").c_str());
  return CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetPCIBusId(char* address, int size, CUdevice device) {
  ENTER_DEVICE(cuDeviceGetPCIBusId);
  std::snprintf(address, static_cast<size_t>(size), "%s", text_of(part_of(device), "pci_address").c_str());
  return CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  ENTER_DEVICE(cuDeviceGetUuid);
  return read_uuid(device, "uuid", uuid);
}
EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  ENTER_DEVICE(cuDeviceTotalMem_v2);
  *bytes = number_of(part_of(device), "memory_total_bytes");
  return CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  ENTER_DEVICE(cuDeviceGetAttribute);
  const int capability = capability_of(part_of(device));
  if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) return *value = capability / 10, CUDA_SUCCESS;
  if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) return *value = capability % 10, CUDA_SUCCESS;
  auto found = kAttributes.find(attribute);
  if (found == kAttributes.end() || !says(part_of(device), found->second)) return CUDA_ERROR_INVALID_VALUE;
  *value = static_cast<int>(number_of(part_of(device), found->second));
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  ENTER_DEVICE(cuDevicePrimaryCtxRetain);
  CUctx_st& this_gpu = gpus()[static_cast<size_t>(device)];
  ++this_gpu.users;
  *context = &this_gpu;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  LOCK;
  CUctx_st& this_gpu = gpus()[static_cast<size_t>(device)];
  this_gpu.drain_all();
  --this_gpu.users;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options,
                                   void** values) {
  ENTER(cuModuleLoadDataEx);
  const std::string text = static_cast<const char*>(image);
  if (CUresult code = check_image(text, *current->part); code != CUDA_SUCCESS) return code;
  if (!cpu().ready()) return CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
  CUmod_st made;
  std::string log;
  if (cpu().build(text.substr(text.find('\n') + 1), made.program, log)) {
    *module = keep(current->modules, std::move(made));
    return CUDA_SUCCESS;
  }
  char* room = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) room = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) size = reinterpret_cast<size_t>(values[i]);
  }
  if (room != nullptr && size > 0) std::snprintf(room, size, "%s", log.c_str());
  return CUDA_ERROR_INVALID_PTX;
}
EXPORT CUresult cuModuleUnload(CUmodule handle) {
  ENTER(cuModuleUnload);
  CUmodule module = known(current->modules, handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  current->drain_all();
  forget(current->modules, handle);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) {
  ENTER(cuModuleGetFunction);
  CUmodule module = known(current->modules, handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Kernel* kernel = cpu().kernel(module->program, name);
  if (kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
  std::unique_ptr<CUfunc_st>& made = module->functions[kernel];
  if (!made) made = std::make_unique<CUfunc_st>(CUfunc_st{kernel});
  *function = made.get();
  return CUDA_SUCCESS;
}
EXPORT CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  ENTER(cuFuncGetAttribute);
  const Kernel& kernel = *function->kernel;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return *value = 1024, CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: return *value = kernel.shared_bytes, CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: return *value = 0, CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: return *value = 32, CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: return *value = kernel.dynamic_shared_allowed, CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}
EXPORT CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  ENTER(cuFuncSetAttribute);
  Kernel& kernel = *function->kernel;
  const auto most = static_cast<int>(number_of(*current->part, "shared_bytes_per_block_opt_in"));
  // In OpenCL a kernel's own include what the launch gives (DYNAMIC_SHARED).
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || std::max(value, kernel.shared_bytes) > most)
    return CUDA_ERROR_INVALID_VALUE;
  kernel.dynamic_shared_allowed = value;
  return CUDA_SUCCESS;
}
// By threads and shared memory alone.
EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                            size_t shared) {
  ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor);
  const Part& part = *current->part;
  size_t most = number_of(part, "threads_per_multiprocessor") / static_cast<size_t>(threads);
  shared = std::max(shared, static_cast<size_t>(function->kernel->shared_bytes));
  if (shared > 0) most = std::min<size_t>(most, number_of(part, "shared_bytes_per_multiprocessor") / shared);
  *blocks = static_cast<int>(most);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  ENTER_DEVICE(cuDeviceGetUuid_v2);
  return read_uuid(device, says(part_of(device), "mig_uuid") ? "mig_uuid" : "uuid", uuid);
}
EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) { return cuDevicePrimaryCtxRelease(device); }

}  // extern "C"
