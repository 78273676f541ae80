// A fake of NVIDIA's management library (libnvidia-ml.so.1) with the GPUs of a script, for tests of everything that
// queries the library on machines without a GPU. Loaded by RIDGE_NVML=<this file>; the script is the text file named by
// RIDGE_FAKE_NVML. Format: scripted_gpus.h; its `fail` lines give NVML codes, the system has driver_version and
// cuda_version. Besides:
//   architecture 9           nvmlDeviceArchitecture_t
//   draw_percent 97          the GPU draws that part of the limit in force; its energy counter follows
//   power_instant_mw 71200   of the field; power_mw is that of nvmlDeviceGetPowerUsage
//   lost_after_changes 3     after this many changes of settings the GPU is lost
// The power limit can be changed within power_limit_min_mw … power_limit_max_mw (nvml_settings.h). Values missing from
// the script answer "not supported". With FAKE_NVML_OLD defined the functions added by driver 535 and 510 are missing,
// as in an older library.
#include <nvml.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <span>

#include "nvml_settings.h"
#include "scripted_gpus.h"

namespace fake = ridge::fake;
using fake::Part, fake::Script, fake::script_of, fake::says, fake::number_of;

namespace {

Script& script() { return script_of("RIDGE_FAKE_NVML"); }

Part& this_gpu(nvmlDevice_t device) { return *reinterpret_cast<Part*>(device); }

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

nvmlReturn_t outcome(const Part& part, const char* function) {
  return lost(part) ? NVML_ERROR_GPU_IS_LOST : fake::outcome(part, function, NVML_SUCCESS);
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

const char* clock_key(nvmlClockType_t type) { return type == NVML_CLOCK_MEM ? "memory_clock_mhz" : "sm_clock_mhz"; }
const char* highest_clock_key(nvmlClockType_t type) {
  return type == NVML_CLOCK_MEM ? "memory_clock_max_mhz" : "sm_clock_max_mhz";
}

int64_t slowdowns_of(const Part& part) {
  unsigned long long bits = number_of(part, "slowdown_bits");
  if (says(part, "draw_percent") && limit_of(part) < scripted(part, "power_limit_max_mw"))
    bits |= nvmlClocksEventReasonSwPowerCap;
  return static_cast<int64_t>(bits);
}

// A script line's value after the changes of settings.
int64_t value_of(const Part& part, const std::string& key) {
  if (key == "power_limit_mw") return limit_of(part);
  if (key == "power_mw") return draw_of(part);
  if (key == "energy_mj") return energy_of(part);
  if (key == "slowdown_bits") return slowdowns_of(part);
  return scripted(part, key.c_str());
}

nvmlReturn_t text(const Part& part, const char* function, const char* key, char* buffer, unsigned size) {
  if (nvmlReturn_t code = outcome(part, function); code != NVML_SUCCESS) return code;
  if (!says(part, key)) return NVML_ERROR_NOT_SUPPORTED;
  const std::string words = fake::text_of(part, key);
  if (words.size() >= size) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(buffer, words.c_str(), words.size() + 1);
  return NVML_SUCCESS;
}

template <typename T>
nvmlReturn_t number(const Part& part, const char* function, const char* key, T* value) {
  if (nvmlReturn_t code = outcome(part, function); code != NVML_SUCCESS) return code;
  if (!says(part, key)) return NVML_ERROR_NOT_SUPPORTED;
  *value = static_cast<T>(value_of(part, key));
  return NVML_SUCCESS;
}

// Splits "9.0".
nvmlReturn_t pair_of(const Part& part, const char* function, const char* key, int* major, int* minor) {
  char words[16] = "", point = 0;
  nvmlReturn_t code = text(part, function, key, words, sizeof words);
  if (code == NVML_SUCCESS) std::istringstream(words) >> *major >> point >> *minor;
  return code;
}

nvmlReturn_t change_limit(Part& part, int64_t limit_mw) {
  if (nvmlReturn_t code = outcome(part, "nvmlDeviceSetPowerManagementLimit"); code != NVML_SUCCESS) return code;
  if (!says(part, "power_limit_max_mw")) return NVML_ERROR_NOT_SUPPORTED;
  if (limit_mw < scripted(part, "power_limit_min_mw") || limit_mw > scripted(part, "power_limit_max_mw"))
    return NVML_ERROR_INVALID_ARGUMENT;
  const int64_t energy = energy_of(part);
  fake::change_settings(index_of(part), [&](fake::GpuSettings& settings) {
    ++settings["writes"];
    settings["energy_mj"] = energy;
    settings["since_ms"] = fake::monotonic_ms();
    settings["power_limit_mw"] = limit_mw;
  });
  return NVML_SUCCESS;
}

// The real library writes eight digits of domain, in capitals.
void write_bus_id(const std::string& address, nvmlPciInfo_t* pci) {
  std::memset(pci, 0, sizeof *pci);
  std::string full = "0000" + address;
  for (size_t i = 0; i < full.size() && i + 1 < sizeof pci->busId; ++i)
    pci->busId[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(full[i])));
}

const char* ecc_key(nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter) {
  if (type == NVML_MEMORY_ERROR_TYPE_CORRECTED)
    return counter == NVML_VOLATILE_ECC ? "ecc_corrected" : "ecc_corrected_ever";
  return counter == NVML_VOLATILE_ECC ? "ecc_uncorrected" : "ecc_uncorrected_ever";
}

const char* error_words(nvmlReturn_t code) {
  switch (code) {
    case NVML_ERROR_INVALID_ARGUMENT: return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
    case NVML_ERROR_NO_PERMISSION: return "Insufficient Permissions";
    case NVML_ERROR_GPU_IS_LOST: return "GPU is lost";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH: return "Driver/library version mismatch";
    default: return "Unknown Error";
  }
}

}  // namespace

extern "C" {

#define EXPORT __attribute__((visibility("default")))
#define NUMBER(function, type, key)                                \
  EXPORT nvmlReturn_t function(nvmlDevice_t device, type* value) { \
    return number(this_gpu(device), #function, key, value);        \
  }
#define TEXT(function, key)                                                       \
  EXPORT nvmlReturn_t function(nvmlDevice_t device, char* value, unsigned size) { \
    return text(this_gpu(device), #function, key, value, size);                   \
  }

EXPORT nvmlReturn_t nvmlInit_v2() { return outcome(script().system, "nvmlInit_v2"); }
EXPORT nvmlReturn_t nvmlShutdown() { return NVML_SUCCESS; }
EXPORT const char* nvmlErrorString(nvmlReturn_t code) { return error_words(code); }
EXPORT nvmlReturn_t nvmlSystemGetDriverVersion(char* buffer, unsigned size) {
  return text(script().system, "nvmlSystemGetDriverVersion", "driver_version", buffer, size);
}
EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  int major = 0, minor = 0;
  nvmlReturn_t code = pair_of(script().system, "nvmlSystemGetCudaDriverVersion_v2", "cuda_version", &major, &minor);
  *version = 1000 * major + 10 * minor;
  return code;
}
EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(script().gpus.size());
  return outcome(script().system, "nvmlDeviceGetCount_v2");
}
EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  if (index >= script().gpus.size()) return NVML_ERROR_INVALID_ARGUMENT;
  *device = reinterpret_cast<nvmlDevice_t>(&script().gpus[index]);
  return outcome(script().gpus[index], "nvmlDeviceGetHandleByIndex_v2");
}
TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetUUID, "uuid")
EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  std::memset(pci, 0, sizeof *pci);
  char address[32] = "";
  nvmlReturn_t code = text(this_gpu(device), "nvmlDeviceGetPciInfo_v3", "pci_address", address, sizeof address);
  if (code != NVML_SUCCESS) return code;
  write_bus_id(address, pci);
  return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor) {
  return pair_of(this_gpu(device), "nvmlDeviceGetCudaComputeCapability", "compute_capability", major, minor);
}
EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  nvmlReturn_t code = number(this_gpu(device), "nvmlDeviceGetMemoryInfo", "memory_total_bytes", &memory->total);
  if (code != NVML_SUCCESS) return code;
  code = number(this_gpu(device), "nvmlDeviceGetMemoryInfo", "memory_used_bytes", &memory->used);
  memory->free = memory->total - memory->used;
  return code;
}
EXPORT nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* busy) {
  busy->memory = 0;
  return number(this_gpu(device), "nvmlDeviceGetUtilizationRates", "utilization_percent", &busy->gpu);
}
EXPORT nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t* current, nvmlEnableState_t* pending) {
  nvmlReturn_t code = number(this_gpu(device), "nvmlDeviceGetEccMode", "ecc", current);
  *pending = *current;
  return code;
}
EXPORT nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                                nvmlEccCounterType_t counter, unsigned long long* count) {
  return number(this_gpu(device), "nvmlDeviceGetTotalEccErrors", ecc_key(type, counter), count);
}
NUMBER(nvmlDeviceGetPersistenceMode, nvmlEnableState_t, "persistence")
NUMBER(nvmlDeviceGetComputeMode, nvmlComputeMode_t, "compute_mode")
NUMBER(nvmlDeviceGetPerformanceState, nvmlPstates_t, "performance_state")
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, "slowdown_bits")
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, "pcie_generation")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, "pcie_generation_max")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, unsigned, "pcie_width")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, unsigned, "pcie_width_max")
NUMBER(nvmlDeviceGetPcieReplayCounter, unsigned, "pcie_replays")
NUMBER(nvmlDeviceGetArchitecture, nvmlDeviceArchitecture_t, "architecture")
NUMBER(nvmlDeviceGetNumGpuCores, unsigned, "cores")
NUMBER(nvmlDeviceGetMemoryBusWidth, unsigned, "memory_bus_bits")
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, unsigned, "power_limit_default_mw")
NUMBER(nvmlDeviceGetPowerManagementLimit, unsigned, "power_limit_mw")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned, "power_limit_mw")
NUMBER(nvmlDeviceGetPowerUsage, unsigned, "power_mw")
NUMBER(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, "energy_mj")
EXPORT nvmlReturn_t nvmlDeviceSetPowerManagementLimit(nvmlDevice_t device, unsigned limit_mw) {
  return change_limit(this_gpu(device), limit_mw);
}
EXPORT nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t first, nvmlDevice_t second,
                                                        nvmlGpuTopologyLevel_t* level) {
  size_t one = index_of(this_gpu(first)), other = index_of(this_gpu(second));
  std::string key = "pair " + std::to_string(std::min(one, other)) + " " + std::to_string(std::max(one, other));
  if (nvmlReturn_t code = outcome(this_gpu(first), "nvmlDeviceGetTopologyCommonAncestor"); code != NVML_SUCCESS)
    return code;
  return number(script().system, "nvmlDeviceGetTopologyCommonAncestor", key.c_str(), level);
}
EXPORT nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t, unsigned* value) {
  return number(this_gpu(device), "nvmlDeviceGetTemperature", "temperature_c", value);
}
EXPORT nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device, nvmlTemperatureThresholds_t threshold,
                                                      unsigned* value) {
  if (threshold != NVML_TEMPERATURE_THRESHOLD_SLOWDOWN) return NVML_ERROR_NOT_SUPPORTED;
  return number(this_gpu(device), "nvmlDeviceGetTemperatureThreshold", "slowdown_temperature_c", value);
}
EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned* least, unsigned* most) {
  const char* function = "nvmlDeviceGetPowerManagementLimitConstraints";
  nvmlReturn_t code = number(this_gpu(device), function, "power_limit_min_mw", least);
  return code != NVML_SUCCESS ? code : number(this_gpu(device), function, "power_limit_max_mw", most);
}
EXPORT nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* value) {
  return number(this_gpu(device), "nvmlDeviceGetClockInfo", clock_key(type), value);
}
EXPORT nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* value) {
  return number(this_gpu(device), "nvmlDeviceGetMaxClockInfo", highest_clock_key(type), value);
}

EXPORT nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, nvmlEnableState_t* up) {
  const Part& part = this_gpu(device);
  if (nvmlReturn_t code = outcome(part, "nvmlDeviceGetNvLinkState"); code != NVML_SUCCESS) return code;
  if (part.links.empty()) return NVML_ERROR_NOT_SUPPORTED;
  auto found = part.links.find(link);
  if (found == part.links.end()) return NVML_ERROR_INVALID_ARGUMENT;
  *up = found->second.up ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
  return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned link, nvmlPciInfo_t* pci) {
  write_bus_id(this_gpu(device).links[link].remote, pci);
  return outcome(this_gpu(device), "nvmlDeviceGetNvLinkRemotePciInfo_v2");
}
EXPORT nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned index,
                                                    nvmlNvLinkErrorCounter_t counter, unsigned long long* count) {
  const fake::Link& link = this_gpu(device).links[index];
  *count = counter == NVML_NVLINK_ERROR_DL_REPLAY     ? link.replays
           : counter == NVML_NVLINK_ERROR_DL_RECOVERY ? link.recoveries
                                                      : link.crc_errors;
  return outcome(this_gpu(device), "nvmlDeviceGetNvLinkErrorCounter");
}
EXPORT nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* fields) {
  for (nvmlFieldValue_t& field : std::span(fields, static_cast<size_t>(count))) {
    field.nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    if (field.fieldId == NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS) {
      field.valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
      field.value.ullVal = this_gpu(device).links[field.scopeId].recoveries;
      field.nvmlReturn = NVML_SUCCESS;
    }
    if (field.fieldId == NVML_FI_DEV_POWER_INSTANT && field.scopeId == NVML_POWER_SCOPE_GPU) {
      field.valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
      field.nvmlReturn = number(this_gpu(device), "nvmlDeviceGetFieldValues", "power_instant_mw", &field.value.uiVal);
    }
  }
  return outcome(this_gpu(device), "nvmlDeviceGetFieldValues");
}

#ifndef FAKE_NVML_OLD
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, "slowdown_bits")
EXPORT nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned* corrected, unsigned* uncorrected,
                                              unsigned* pending, unsigned* failed) {
  const char* function = "nvmlDeviceGetRemappedRows";
  *uncorrected = 0;
  nvmlReturn_t code = number(this_gpu(device), function, "rows_remapped", corrected);
  if (code == NVML_SUCCESS) code = number(this_gpu(device), function, "row_remap_pending", pending);
  return code != NVML_SUCCESS ? code : number(this_gpu(device), function, "row_remap_failed", failed);
}
EXPORT nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
  nvmlReturn_t code = number(this_gpu(device), "nvmlDeviceGetMigMode", "mig", current);
  *pending = *current;
  return code;
}
EXPORT nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t, unsigned* count) {
  *count = 7;
  return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index, nvmlDevice_t* instance) {
  nvmlReturn_t code = outcome(this_gpu(device), "nvmlDeviceGetMigDeviceHandleByIndex");
  if (code == NVML_SUCCESS && index >= this_gpu(device).slices.size()) return NVML_ERROR_NOT_FOUND;
  if (code == NVML_SUCCESS) *instance = reinterpret_cast<nvmlDevice_t>(&this_gpu(device).slices[index]);
  return code;
}
NUMBER(nvmlDeviceGetGpuInstanceId, unsigned, "gpu_instance")
NUMBER(nvmlDeviceGetComputeInstanceId, unsigned, "compute_instance")
EXPORT nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t* attributes) {
  const char* function = "nvmlDeviceGetAttributes_v2";
  *attributes = {};
  nvmlReturn_t code = number(this_gpu(device), function, "multiprocessors", &attributes->multiprocessorCount);
  if (code == NVML_SUCCESS) code = number(this_gpu(device), function, "gpu_slices", &attributes->gpuInstanceSliceCount);
  return code != NVML_SUCCESS
             ? code
             : number(this_gpu(device), function, "compute_slices", &attributes->computeInstanceSliceCount);
}
EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                            nvmlProcessInfo_t* infos) {
  const Part& part = this_gpu(device);
  if (nvmlReturn_t code = outcome(part, "nvmlDeviceGetComputeRunningProcesses_v3"); code != NVML_SUCCESS) return code;
  unsigned room = *count;
  *count = static_cast<unsigned>(part.processes.size());
  if (room < *count) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (const fake::Process& process : part.processes) *infos++ = {process.pid, process.bytes, ~0U, ~0U};
  return NVML_SUCCESS;
}
#endif

}  // extern "C"
