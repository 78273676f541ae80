// A fake for NVIDIA's management library (libnvidia-ml.so.1) that plays the GPUs of a script, so that everything
// that asks the library is tested on machines without a GPU. Loaded by RIDGE_NVML=<this file>; the script is the text
// file that RIDGE_FAKE_NVML names.
// How a script is written: scripted_gpus.h; its `fail` lines give NVML codes, the system tells driver_version and
// cuda_version. Besides:
//   architecture 9           nvmlDeviceArchitecture_t
//   draw_percent 97          the GPU draws that part of the limit in force; its energy counter goes with it
//   lost_after_changes 3     after so many settings were changed the GPU is lost
// Settings can be changed within power_limit_min_mw … power_limit_max_mw and up to the highest clocks (nvml_settings.h).
// What the script does not say answers "not supported". With FAKE_NVML_OLD defined the functions that came with driver
// 535 and 510 are missing, as in an older library.
#include "scripted_gpus.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "gpu/nvml/abi.h"
#include "nvml_settings.h"

using namespace ridge;
using namespace ridge::gpu::nvml;
using fake::Part, fake::Script, fake::script_of, fake::says, fake::number_of;

namespace {

constexpr fake::Codes<int> kCodes{kSuccess, kNotSupported, kInsufficientSize};

Script& script() { return script_of("RIDGE_FAKE_NVML"); }

Part& this_gpu(Device device) { return *reinterpret_cast<Part*>(device); }

// Position among the GPUs; past the end for the system and for slices.
size_t index_of(const Part& part) {
  const std::vector<Part>& gpus = script().gpus;
  for (size_t i = 0; i < gpus.size(); ++i)
    if (&gpus[i] == &part) return i;
  return gpus.size();
}

int64_t setting(const Part& part, const char* key, int64_t otherwise) {
  if (index_of(part) == script().gpus.size()) return otherwise;
  fake::GpuSettings settings = fake::settings_of(index_of(part));
  auto found = settings.find(key);
  return found == settings.end() ? otherwise : found->second;
}

bool lost(const Part& part) {
  return says(part, "lost_after_changes") &&
         setting(part, "writes", 0) >= static_cast<int64_t>(number_of(part, "lost_after_changes"));
}

int outcome(const Part& part, const char* function) {
  return lost(part) ? int{kGpuIsLost} : fake::outcome(part, function, int{kSuccess});
}

int text(const Part& part, const char* function, const char* key, char* buffer, unsigned size) {
  if (lost(part)) return kGpuIsLost;
  return fake::text(kCodes, part, function, key, buffer, size);
}

template <typename T>
int number(const Part& part, const char* function, const char* key, T* value) {
  if (lost(part)) return kGpuIsLost;
  return fake::number(kCodes, part, function, key, value);
}

int64_t scripted(const Part& part, const char* key) { return static_cast<int64_t>(number_of(part, key)); }

int64_t limit_of(const Part& part) { return setting(part, "power_limit_mw", scripted(part, "power_limit_mw")); }

int64_t draw_of(const Part& part) {
  if (!says(part, "draw_percent")) return scripted(part, "power_mw");
  return limit_of(part) * scripted(part, "draw_percent") / 100;
}

int64_t energy_of(const Part& part) {
  int64_t energy = setting(part, "energy_mj", scripted(part, "energy_mj"));
  if (!says(part, "draw_percent")) return energy;
  return energy + draw_of(part) * (fake::monotonic_ms() - setting(part, "since_ms", 0)) / 1000;
}

// The clock within what it is locked to.
int64_t clock_of(const Part& part, const char* key, const char* least, const char* most) {
  int64_t clock = scripted(part, key);
  return std::max(setting(part, least, clock), std::min(setting(part, most, clock), clock));
}

int change_limit(Part& part, int64_t limit_mw) {
  if (int code = outcome(part, "nvmlDeviceSetPowerManagementLimit"); code != kSuccess) return code;
  if (!says(part, "power_limit_max_mw")) return kNotSupported;
  if (limit_mw < scripted(part, "power_limit_min_mw") || limit_mw > scripted(part, "power_limit_max_mw"))
    return kInvalidArgument;
  const int64_t energy = energy_of(part);
  fake::change_settings(index_of(part), [&](fake::GpuSettings& settings) {
    ++settings["writes"];
    settings["energy_mj"] = energy;
    settings["since_ms"] = fake::monotonic_ms();
    settings["power_limit_mw"] = limit_mw;
  });
  return kSuccess;
}

struct ClockKeys {
  const char *least, *most, *highest;
};
constexpr ClockKeys kChipClock{"locked_min_mhz", "locked_max_mhz", "sm_clock_max_mhz"};
constexpr ClockKeys kMemoryClocks{"locked_memory_min_mhz", "locked_memory_max_mhz", "memory_clock_max_mhz"};

int lock_clocks(Part& part, const char* function, const ClockKeys& keys, unsigned least, unsigned most) {
  if (int code = outcome(part, function); code != kSuccess) return code;
  if (!says(part, keys.highest)) return kNotSupported;
  if (least > most || most > number_of(part, keys.highest)) return kInvalidArgument;
  fake::change_settings(index_of(part), [&](fake::GpuSettings& settings) {
    ++settings["writes"];
    settings[keys.least] = least;
    settings[keys.most] = most;
  });
  return kSuccess;
}

int unlock_clocks(Part& part, const char* function, const ClockKeys& keys) {
  if (int code = outcome(part, function); code != kSuccess) return code;
  if (!says(part, keys.highest)) return kNotSupported;
  fake::change_settings(index_of(part), [&](fake::GpuSettings& settings) {
    ++settings["writes"];
    settings.erase(keys.least);
    settings.erase(keys.most);
  });
  return kSuccess;
}

int slowdown_bits(const Part& part, const char* function, unsigned long long* bits) {
  int code = number(part, function, "slowdown_bits", bits);
  if (code != kSuccess) return code;
  if (setting(part, kChipClock.most, 0) > 0) *bits |= kApplicationClocks;
  if (says(part, "draw_percent") && limit_of(part) < scripted(part, "power_limit_max_mw")) *bits |= kSoftwarePowerCap;
  return code;
}

// The real library writes eight digits of domain, in capitals.
void write_bus_id(const std::string& address, PciInfo* pci) {
  std::memset(pci, 0, sizeof *pci);
  std::string full = "0000" + address;
  for (size_t i = 0; i < full.size() && i + 1 < sizeof pci->bus_id; ++i)
    pci->bus_id[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(full[i])));
}

const char* ecc_key(int type, int counter) {
  if (type == kCorrected) return counter == kSinceStart ? "ecc_corrected" : "ecc_corrected_ever";
  return counter == kSinceStart ? "ecc_uncorrected" : "ecc_uncorrected_ever";
}

const char* error_words(int code) {
  switch (code) {
    case kSuccess: return "Success";
    case kInvalidArgument: return "Invalid Argument";
    case kNotSupported: return "Not Supported";
    case kNoPermission: return "Insufficient Permissions";
    case kDriverNotLoaded: return "Driver Not Loaded";
    case kTimeout: return "Timeout";
    case kGpuIsLost: return "GPU is lost";
    case kResetRequired: return "GPU requires reset";
    case kVersionMismatch: return "Driver/library version mismatch";
    default: return "Unknown Error";
  }
}

}  // namespace

extern "C" {

#define EXPORT __attribute__((visibility("default")))
#define NUMBER(function, type, key) \
  EXPORT int function(Device device, type* value) { return number(this_gpu(device), #function, key, value); }

EXPORT int nvmlInit_v2() { return outcome(script().system, "nvmlInit_v2"); }
EXPORT int nvmlShutdown() { return kSuccess; }
EXPORT const char* nvmlErrorString(int code) { return error_words(code); }
EXPORT int nvmlSystemGetDriverVersion(char* buffer, unsigned size) {
  return text(script().system, "nvmlSystemGetDriverVersion", "driver_version", buffer, size);
}
EXPORT int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  std::string words;
  if (int code = outcome(script().system, "nvmlSystemGetCudaDriverVersion_v2"); code != kSuccess) return code;
  auto found = script().system.values.find("cuda_version");
  if (found == script().system.values.end()) return kNotSupported;
  int major = 0, minor = 0;
  char point = 0;
  std::istringstream(found->second) >> major >> point >> minor;
  *version = 1000 * major + 10 * minor;
  return kSuccess;
}
EXPORT int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(script().gpus.size());
  return outcome(script().system, "nvmlDeviceGetCount_v2");
}
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  if (index >= script().gpus.size()) return kInvalidArgument;
  *device = reinterpret_cast<Device>(&script().gpus[index]);
  return outcome(script().gpus[index], "nvmlDeviceGetHandleByIndex_v2");
}
EXPORT int nvmlDeviceGetName(Device device, char* buffer, unsigned size) {
  return text(this_gpu(device), "nvmlDeviceGetName", "name", buffer, size);
}
EXPORT int nvmlDeviceGetUUID(Device device, char* buffer, unsigned size) {
  return text(this_gpu(device), "nvmlDeviceGetUUID", "uuid", buffer, size);
}
EXPORT int nvmlDeviceGetPciInfo_v3(Device device, PciInfo* pci) {
  std::memset(pci, 0, sizeof *pci);
  char address[32] = "";
  int code = text(this_gpu(device), "nvmlDeviceGetPciInfo_v3", "pci_address", address, sizeof address);
  if (code != kSuccess) return code;
  write_bus_id(address, pci);
  return kSuccess;
}
EXPORT int nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor) {
  char words[16] = "";
  int code = text(this_gpu(device), "nvmlDeviceGetCudaComputeCapability", "compute_capability", words, sizeof words);
  char point = 0;
  if (code == kSuccess) std::istringstream(words) >> *major >> point >> *minor;
  return code;
}
EXPORT int nvmlDeviceGetMemoryInfo(Device device, MemoryInfo* memory) {
  int code = number(this_gpu(device), "nvmlDeviceGetMemoryInfo", "memory_total_bytes", &memory->total);
  if (code != kSuccess) return code;
  code = number(this_gpu(device), "nvmlDeviceGetMemoryInfo", "memory_used_bytes", &memory->used);
  memory->free = memory->total - memory->used;
  return code;
}
EXPORT int nvmlDeviceGetUtilizationRates(Device device, Utilization* busy) {
  busy->memory = 0;
  return number(this_gpu(device), "nvmlDeviceGetUtilizationRates", "utilization_percent", &busy->gpu);
}
EXPORT int nvmlDeviceGetEccMode(Device device, int* current, int* pending) {
  int code = number(this_gpu(device), "nvmlDeviceGetEccMode", "ecc", current);
  *pending = *current;
  return code;
}
EXPORT int nvmlDeviceGetTotalEccErrors(Device device, int type, int counter, unsigned long long* count) {
  return number(this_gpu(device), "nvmlDeviceGetTotalEccErrors", ecc_key(type, counter), count);
}
NUMBER(nvmlDeviceGetPersistenceMode, int, "persistence")
NUMBER(nvmlDeviceGetComputeMode, int, "compute_mode")
NUMBER(nvmlDeviceGetPerformanceState, int, "performance_state")
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* bits) {
  return slowdown_bits(this_gpu(device), "nvmlDeviceGetCurrentClocksThrottleReasons", bits);
}
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, "pcie_generation")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, "pcie_generation_max")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, unsigned, "pcie_width")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, unsigned, "pcie_width_max")
NUMBER(nvmlDeviceGetPcieReplayCounter, unsigned, "pcie_replays")
NUMBER(nvmlDeviceGetArchitecture, unsigned, "architecture")
NUMBER(nvmlDeviceGetNumGpuCores, unsigned, "cores")
NUMBER(nvmlDeviceGetMemoryBusWidth, unsigned, "memory_bus_bits")
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, unsigned, "power_limit_default_mw")
EXPORT int nvmlDeviceGetPowerUsage(Device device, unsigned* value) {
  int code = number(this_gpu(device), "nvmlDeviceGetPowerUsage", "power_mw", value);
  if (code == kSuccess) *value = static_cast<unsigned>(draw_of(this_gpu(device)));
  return code;
}
EXPORT int nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned* value) {
  int code = number(this_gpu(device), "nvmlDeviceGetEnforcedPowerLimit", "power_limit_mw", value);
  if (code == kSuccess) *value = static_cast<unsigned>(limit_of(this_gpu(device)));
  return code;
}
EXPORT int nvmlDeviceGetPowerManagementLimit(Device device, unsigned* value) {
  int code = number(this_gpu(device), "nvmlDeviceGetPowerManagementLimit", "power_limit_mw", value);
  if (code == kSuccess) *value = static_cast<unsigned>(limit_of(this_gpu(device)));
  return code;
}
EXPORT int nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long* value) {
  int code = number(this_gpu(device), "nvmlDeviceGetTotalEnergyConsumption", "energy_mj", value);
  if (code == kSuccess) *value = static_cast<unsigned long long>(energy_of(this_gpu(device)));
  return code;
}
EXPORT int nvmlDeviceSetPowerManagementLimit(Device device, unsigned limit_mw) {
  return change_limit(this_gpu(device), limit_mw);
}
EXPORT int nvmlDeviceSetGpuLockedClocks(Device device, unsigned least, unsigned most) {
  return lock_clocks(this_gpu(device), "nvmlDeviceSetGpuLockedClocks", kChipClock, least, most);
}
EXPORT int nvmlDeviceResetGpuLockedClocks(Device device) {
  return unlock_clocks(this_gpu(device), "nvmlDeviceResetGpuLockedClocks", kChipClock);
}
EXPORT int nvmlDeviceSetMemoryLockedClocks(Device device, unsigned least, unsigned most) {
  return lock_clocks(this_gpu(device), "nvmlDeviceSetMemoryLockedClocks", kMemoryClocks, least, most);
}
EXPORT int nvmlDeviceResetMemoryLockedClocks(Device device) {
  return unlock_clocks(this_gpu(device), "nvmlDeviceResetMemoryLockedClocks", kMemoryClocks);
}
EXPORT int nvmlDeviceGetTopologyCommonAncestor(Device first, Device second, int* level) {
  size_t one = index_of(this_gpu(first)), other = index_of(this_gpu(second));
  std::string key = "pair " + std::to_string(std::min(one, other)) + " " + std::to_string(std::max(one, other));
  if (int code = outcome(this_gpu(first), "nvmlDeviceGetTopologyCommonAncestor"); code != kSuccess) return code;
  return number(script().system, "nvmlDeviceGetTopologyCommonAncestor", key.c_str(), level);
}
EXPORT int nvmlDeviceGetTemperature(Device device, int, unsigned* value) {
  return number(this_gpu(device), "nvmlDeviceGetTemperature", "temperature_c", value);
}
EXPORT int nvmlDeviceGetTemperatureThreshold(Device device, int threshold, unsigned* value) {
  if (threshold != kSlowdown) return kNotSupported;
  return number(this_gpu(device), "nvmlDeviceGetTemperatureThreshold", "slowdown_temperature_c", value);
}
EXPORT int nvmlDeviceGetPowerManagementLimitConstraints(Device device, unsigned* least, unsigned* most) {
  const char* function = "nvmlDeviceGetPowerManagementLimitConstraints";
  int code = number(this_gpu(device), function, "power_limit_min_mw", least);
  return code != kSuccess ? code : number(this_gpu(device), function, "power_limit_max_mw", most);
}
EXPORT int nvmlDeviceGetClockInfo(Device device, int type, unsigned* value) {
  const char* key = type == kMemoryClock ? "memory_clock_mhz" : "sm_clock_mhz";
  const ClockKeys& lock = type == kMemoryClock ? kMemoryClocks : kChipClock;
  int code = number(this_gpu(device), "nvmlDeviceGetClockInfo", key, value);
  if (code == kSuccess) *value = static_cast<unsigned>(clock_of(this_gpu(device), key, lock.least, lock.most));
  return code;
}
EXPORT int nvmlDeviceGetMaxClockInfo(Device device, int type, unsigned* value) {
  const char* key = type == kMemoryClock ? "memory_clock_max_mhz" : "sm_clock_max_mhz";
  return number(this_gpu(device), "nvmlDeviceGetMaxClockInfo", key, value);
}

EXPORT int nvmlDeviceGetNvLinkState(Device device, unsigned link, int* up) {
  const Part& part = this_gpu(device);
  if (int code = outcome(part, "nvmlDeviceGetNvLinkState"); code != kSuccess) return code;
  if (part.links.empty()) return kNotSupported;
  auto found = part.links.find(link);
  if (found == part.links.end()) return kInvalidArgument;
  *up = found->second.up ? 1 : 0;
  return kSuccess;
}
EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned link, PciInfo* pci) {
  write_bus_id(this_gpu(device).links[link].remote, pci);
  return outcome(this_gpu(device), "nvmlDeviceGetNvLinkRemotePciInfo_v2");
}
EXPORT int nvmlDeviceGetNvLinkErrorCounter(Device device, unsigned index, int counter, unsigned long long* count) {
  const fake::Link& link = this_gpu(device).links[index];
  *count = counter == kLinkReplay ? link.replays : counter == kLinkRecovery ? link.recoveries : link.crc_errors;
  return outcome(this_gpu(device), "nvmlDeviceGetNvLinkErrorCounter");
}
EXPORT int nvmlDeviceGetFieldValues(Device device, int count, FieldValue* fields) {
  for (int i = 0; i < count; ++i) {
    fields[i].type = kUnsignedLongLong;
    fields[i].value.ull = this_gpu(device).links[fields[i].scope].recoveries;
    fields[i].result = fields[i].field == kFieldLinkRecoveries ? kSuccess : kNotSupported;
  }
  return outcome(this_gpu(device), "nvmlDeviceGetFieldValues");
}

#ifndef FAKE_NVML_OLD
EXPORT int nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long* bits) {
  return slowdown_bits(this_gpu(device), "nvmlDeviceGetCurrentClocksEventReasons", bits);
}
EXPORT int nvmlDeviceGetRemappedRows(Device device, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                                     unsigned* failed) {
  const char* function = "nvmlDeviceGetRemappedRows";
  *uncorrected = 0;
  int code = number(this_gpu(device), function, "rows_remapped", corrected);
  if (code == kSuccess) code = number(this_gpu(device), function, "row_remap_pending", pending);
  return code != kSuccess ? code : number(this_gpu(device), function, "row_remap_failed", failed);
}
EXPORT int nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending) {
  int code = number(this_gpu(device), "nvmlDeviceGetMigMode", "mig", current);
  *pending = *current;
  return code;
}
EXPORT int nvmlDeviceGetMaxMigDeviceCount(Device, unsigned* count) {
  *count = 7;
  return kSuccess;
}
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned index, Device* instance) {
  int code = outcome(this_gpu(device), "nvmlDeviceGetMigDeviceHandleByIndex");
  if (code == kSuccess && index >= this_gpu(device).slices.size()) return kNotFound;
  if (code == kSuccess) *instance = reinterpret_cast<Device>(&this_gpu(device).slices[index]);
  return code;
}
NUMBER(nvmlDeviceGetGpuInstanceId, unsigned, "gpu_instance")
NUMBER(nvmlDeviceGetComputeInstanceId, unsigned, "compute_instance")
EXPORT int nvmlDeviceGetAttributes_v2(Device device, DeviceAttributes* attributes) {
  const char* function = "nvmlDeviceGetAttributes_v2";
  *attributes = {};
  int code = number(this_gpu(device), function, "multiprocessors", &attributes->multiprocessors);
  if (code == kSuccess) code = number(this_gpu(device), function, "gpu_slices", &attributes->gpu_slices);
  return code != kSuccess ? code : number(this_gpu(device), function, "compute_slices", &attributes->compute_slices);
}
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, ProcessInfo* infos) {
  const Part& part = this_gpu(device);
  if (int code = outcome(part, "nvmlDeviceGetComputeRunningProcesses_v3"); code != kSuccess) return code;
  unsigned room = *count;
  *count = static_cast<unsigned>(part.processes.size());
  if (room < *count) return kInsufficientSize;
  for (const fake::Process& process : part.processes) *infos++ = {process.pid, process.bytes, ~0U, ~0U};
  return kSuccess;
}
#endif

}  // extern "C"

// As what ridge looks up, which tests/abi compares with NVIDIA's header.
namespace {
struct LookedUp {
#define FUNCTION(name, ...) std::add_pointer_t<__VA_ARGS__> name;
  RIDGE_NVML_REQUIRED(FUNCTION)
  RIDGE_NVML_OPTIONAL(FUNCTION)
#undef FUNCTION
};
#define SAME(name) static_assert(std::is_same_v<decltype(&::name), decltype(LookedUp::name)>)
SAME(nvmlDeviceGetArchitecture);
SAME(nvmlDeviceGetClockInfo);
SAME(nvmlDeviceGetComputeMode);
SAME(nvmlDeviceGetCount_v2);
SAME(nvmlDeviceGetCudaComputeCapability);
SAME(nvmlDeviceGetCurrPcieLinkGeneration);
SAME(nvmlDeviceGetCurrPcieLinkWidth);
SAME(nvmlDeviceGetCurrentClocksThrottleReasons);
SAME(nvmlDeviceGetEccMode);
SAME(nvmlDeviceGetEnforcedPowerLimit);
SAME(nvmlDeviceGetFieldValues);
SAME(nvmlDeviceGetHandleByIndex_v2);
SAME(nvmlDeviceGetMaxClockInfo);
SAME(nvmlDeviceGetMaxPcieLinkGeneration);
SAME(nvmlDeviceGetMaxPcieLinkWidth);
SAME(nvmlDeviceGetMemoryBusWidth);
SAME(nvmlDeviceGetMemoryInfo);
SAME(nvmlDeviceGetName);
SAME(nvmlDeviceGetNumGpuCores);
SAME(nvmlDeviceGetNvLinkErrorCounter);
SAME(nvmlDeviceGetNvLinkRemotePciInfo_v2);
SAME(nvmlDeviceGetNvLinkState);
SAME(nvmlDeviceGetPciInfo_v3);
SAME(nvmlDeviceGetPcieReplayCounter);
SAME(nvmlDeviceGetPerformanceState);
SAME(nvmlDeviceGetPersistenceMode);
SAME(nvmlDeviceGetPowerManagementDefaultLimit);
SAME(nvmlDeviceGetPowerManagementLimit);
SAME(nvmlDeviceGetPowerManagementLimitConstraints);
SAME(nvmlDeviceGetPowerUsage);
SAME(nvmlDeviceGetTemperature);
SAME(nvmlDeviceGetTemperatureThreshold);
SAME(nvmlDeviceGetTopologyCommonAncestor);
SAME(nvmlDeviceGetTotalEccErrors);
SAME(nvmlDeviceGetTotalEnergyConsumption);
SAME(nvmlDeviceGetUUID);
SAME(nvmlDeviceGetUtilizationRates);
SAME(nvmlDeviceResetGpuLockedClocks);
SAME(nvmlDeviceResetMemoryLockedClocks);
SAME(nvmlDeviceSetGpuLockedClocks);
SAME(nvmlDeviceSetMemoryLockedClocks);
SAME(nvmlDeviceSetPowerManagementLimit);
SAME(nvmlErrorString);
SAME(nvmlInit_v2);
SAME(nvmlShutdown);
SAME(nvmlSystemGetCudaDriverVersion_v2);
SAME(nvmlSystemGetDriverVersion);
#ifndef FAKE_NVML_OLD
SAME(nvmlDeviceGetAttributes_v2);
SAME(nvmlDeviceGetComputeInstanceId);
SAME(nvmlDeviceGetComputeRunningProcesses_v3);
SAME(nvmlDeviceGetCurrentClocksEventReasons);
SAME(nvmlDeviceGetGpuInstanceId);
SAME(nvmlDeviceGetMaxMigDeviceCount);
SAME(nvmlDeviceGetMigDeviceHandleByIndex);
SAME(nvmlDeviceGetMigMode);
SAME(nvmlDeviceGetRemappedRows);
#endif
#undef SAME
}  // namespace
