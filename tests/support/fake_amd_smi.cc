// A stand-in for AMD SMI (libamd_smi.so) that plays the cards of a script. Loaded by RIDGE_AMD_SMI=<this file>; the
// script is the text file that RIDGE_FAKE_AMD_SMI names, written as for fake_rocm_smi.cc, whose scripts it plays too:
// its `fail` lines for functions of this library give AMD SMI's status codes.
//
// With FAKE_AMD_SMI_OLD defined it is one of ROCm 6.3: shorter texts in its structures, power limits in watts. With
// FAKE_AMD_SMI_ANCIENT it lacks what ridge cannot do without.
#include <algorithm>
#include <cstring>

#include "gpu/amd_metrics.h"
#include "gpu/amd_smi_abi.h"
#include "scripted_cards.h"

using namespace ridge;
using namespace ridge::gpu::amd_smi;
using fake::number_of, fake::Part, fake::Script, fake::says, fake::script_of;

namespace {

constexpr fake::Codes<uint32_t> kCodes{kSuccess, kNotSupported, kOutOfResources};

Script& script() { return script_of("RIDGE_FAKE_AMD_SMI"); }
const Part& card(Handle processor) { return *reinterpret_cast<Part*>(processor); }

uint32_t outcome(const Part& part, const char* function) { return fake::outcome(part, function, uint32_t{kSuccess}); }

template <typename T>
uint32_t number(Handle processor, const char* function, const char* key, T* value, uint64_t factor = 1) {
  return fake::number(kCodes, card(processor), function, key, value, factor);
}

uint32_t text(const Part& part, const char* function, const char* key, void* buffer, size_t size) {
  return fake::text(kCodes, part, function, key, buffer, size);
}

#ifdef FAKE_AMD_SMI_OLD
constexpr ProcessLayout kProcess = kProcessOf24;
constexpr uint32_t kVersion = 24;
constexpr uint64_t kLimitsPerMilliwatt = 0;
#else
constexpr ProcessLayout kProcess = kProcessSince25;
constexpr uint32_t kVersion = 26;
constexpr uint64_t kLimitsPerMilliwatt = 1000;
#endif

uint64_t limit_of(const Part& part, const char* key) {
  uint64_t milliwatts = number_of(part, key);
  return kLimitsPerMilliwatt > 0 ? milliwatts * kLimitsPerMilliwatt : milliwatts / 1000;
}

constexpr uint32_t kSpeeds[] = {0, 2500, 5000, 8000, 16000, 32000, 64000};  // [MT/s] of a generation

}  // namespace

extern "C" {

#define EXPORT __attribute__((visibility("default")))

EXPORT uint32_t amdsmi_init(uint64_t flags) {
  return flags == kGpus ? outcome(script().system, "amdsmi_init") : uint32_t{kInvalid};
}
EXPORT uint32_t amdsmi_shut_down() { return kSuccess; }
EXPORT uint32_t amdsmi_status_code_to_string(uint32_t status, const char** words) {
  *words = status == kNotSupported      ? "not supported"
           : status == kNoPermission    ? "permission denied"
           : status == kDriverNotLoaded ? "driver not loaded"
                                        : "some error";
  return kSuccess;
}
EXPORT uint32_t amdsmi_get_lib_version(void* version) {
  std::memcpy(version, &kVersion, sizeof kVersion);
  return kSuccess;
}
// A socket of its own for each card, which holds the card and a processor that is none.
EXPORT uint32_t amdsmi_get_socket_handles(uint32_t* count, Handle* sockets) {
  *count = static_cast<uint32_t>(script().cards.size());
  for (uint32_t i = 0; sockets != nullptr && i < *count; ++i) sockets[i] = reinterpret_cast<Handle>(&script().cards[i]);
  return kSuccess;
}
EXPORT uint32_t amdsmi_get_processor_handles(Handle socket, uint32_t* count, Handle* processors) {
  *count = 2;
  if (processors == nullptr) return kSuccess;
  processors[0] = socket;
  processors[1] = reinterpret_cast<Handle>(&script().system);
  return kSuccess;
}
EXPORT uint32_t amdsmi_get_processor_type(Handle processor, uint32_t* type) {
  *type = &card(processor) == &script().system ? 2 : uint32_t{kGpu};
  return kSuccess;
}
EXPORT uint32_t amdsmi_get_gpu_device_bdf(Handle processor, uint64_t* id) {
  fake::Address address = fake::address_of(card(processor));
  *id = uint64_t{address.domain} << 16 | address.bus << 8 | address.device << 3 | address.function;
  return outcome(card(processor), "amdsmi_get_gpu_device_bdf");
}
EXPORT uint32_t amdsmi_get_gpu_memory_total(Handle processor, uint32_t, uint64_t* bytes) {
  return number(processor, "amdsmi_get_gpu_memory_total", "memory_total_bytes", bytes);
}
#ifndef FAKE_AMD_SMI_ANCIENT
EXPORT uint32_t amdsmi_get_gpu_memory_usage(Handle processor, uint32_t, uint64_t* bytes) {
  return number(processor, "amdsmi_get_gpu_memory_usage", "memory_used_bytes", bytes);
}
#endif
EXPORT uint32_t amdsmi_get_gpu_asic_info(Handle processor, void* info) {
  return text(card(processor), "amdsmi_get_gpu_asic_info", "name", info, 64);
}
EXPORT uint32_t amdsmi_get_gpu_driver_info(Handle, void* info) {
  return text(script().system, "amdsmi_get_gpu_driver_info", "driver_version", info, 64);
}
EXPORT uint32_t amdsmi_get_gpu_device_uuid(Handle processor, unsigned* size, char* uuid) {
  return text(card(processor), "amdsmi_get_gpu_device_uuid", "uuid", uuid, *size);
}
EXPORT uint32_t amdsmi_get_gpu_activity(Handle processor, EngineUsage* usage) {
  return number(processor, "amdsmi_get_gpu_activity", "utilization_percent", &usage->graphics);
}
EXPORT uint32_t amdsmi_get_temp_metric(Handle processor, uint32_t sensor, uint32_t metric, int64_t* value) {
  if (sensor != kHotspot) return kNotSupported;
  const char* key = metric == kTemperatureCritical ? "slowdown_temperature_c" : "temperature_c";
  return number(processor, "amdsmi_get_temp_metric", key, value);
}
EXPORT uint32_t amdsmi_get_power_cap_info(Handle processor, uint32_t, PowerCaps* caps) {
  const Part& part = card(processor);
  *caps = {limit_of(part, "power_limit_mw"),     limit_of(part, "power_limit_default_mw"), 0,
           limit_of(part, "power_limit_min_mw"), limit_of(part, "power_limit_max_mw"),     {}};
  return outcome(part, "amdsmi_get_power_cap_info");
}
EXPORT uint32_t amdsmi_get_energy_count(Handle processor, uint64_t* count, float* resolution_uj, uint64_t* time) {
  *resolution_uj = 15.625F;  // 64 steps are a millijoule
  *time = 0;
  return number(processor, "amdsmi_get_energy_count", "energy_mj", count, 64);
}
EXPORT uint32_t amdsmi_get_clock_info(Handle processor, uint32_t clock, ClockInfo* info) {
  const bool memory = clock == kMemoryClock;
  uint32_t status =
      number(processor, "amdsmi_get_clock_info", memory ? "memory_clock_mhz" : "sm_clock_mhz", &info->now);
  return status != kSuccess ? status
                            : number(processor, "amdsmi_get_clock_info",
                                     memory ? "memory_clock_max_mhz" : "sm_clock_max_mhz", &info->most);
}
EXPORT uint32_t amdsmi_get_pcie_info(Handle processor, PcieInfo* info) {
  const Part& part = card(processor);
  if (uint32_t status = outcome(part, "amdsmi_get_pcie_info"); status != kSuccess) return status;
  if (!says(part, "pcie_width_max")) return kNotSupported;
  info->lanes = static_cast<uint16_t>(number_of(part, "pcie_width"));
  info->most_lanes = static_cast<uint16_t>(number_of(part, "pcie_width_max"));
  info->speed = kSpeeds[number_of(part, "pcie_generation")];
  info->most_speed = kSpeeds[number_of(part, "pcie_generation_max")];
  info->replays = number_of(part, "pcie_replays");
  return kSuccess;
}
EXPORT uint32_t amdsmi_get_gpu_perf_level(Handle processor, uint32_t* level) {
  *level = text_of(card(processor), "performance_level") == "low" ? 1 : 0;
  return outcome(card(processor), "amdsmi_get_gpu_perf_level");
}
EXPORT uint32_t amdsmi_get_gpu_compute_partition(Handle processor, char* buffer, uint32_t size) {
  return text(card(processor), "amdsmi_get_gpu_compute_partition", "partition", buffer, size);
}
EXPORT uint32_t amdsmi_get_gpu_ecc_enabled(Handle processor, uint64_t* blocks) {
  return number(processor, "amdsmi_get_gpu_ecc_enabled", "ecc", blocks);
}
EXPORT uint32_t amdsmi_get_gpu_total_ecc_count(Handle processor, ErrorCount* errors) {
  uint32_t status = number(processor, "amdsmi_get_gpu_total_ecc_count", "ecc_corrected", &errors->correctable);
  return status != kSuccess
             ? status
             : number(processor, "amdsmi_get_gpu_total_ecc_count", "ecc_uncorrected", &errors->uncorrectable);
}
EXPORT uint32_t amdsmi_get_gpu_memory_reserved_pages(Handle processor, uint32_t* count, RetiredPage* pages) {
  const Part& part = card(processor);
  uint32_t status = number(processor, "amdsmi_get_gpu_memory_reserved_pages", "rows_remapped", count);
  if (status != kSuccess || pages == nullptr) return status;
  std::fill_n(pages, *count,
              RetiredPage{0x1000, 4096,
                          number_of(part, "row_remap_pending") != 0 ? RetiredPage::kPending : RetiredPage::kReserved});
  return kSuccess;
}
EXPORT uint32_t amdsmi_get_gpu_metrics_info(Handle processor, void* buffer) {
  const Part& part = card(processor);
  if (uint32_t status = outcome(part, "amdsmi_get_gpu_metrics_info"); status != kSuccess) return status;
  static uint64_t look = 0;
  gpu::AmdMetrics metrics;
  std::memset(&metrics, 0xFF, sizeof metrics);
  if (says(part, "throttle_status")) metrics.independent_throttle_status = number_of(part, "throttle_status");
  if (says(part, "power_mw")) metrics.socket_power_w = static_cast<uint16_t>(number_of(part, "power_mw") / 1000);
  metrics.accumulations = ++look * 100;
  metrics.held_by_power = look * number_of(part, "held_by_power");
  metrics.held_by_socket_heat = look * number_of(part, "held_by_socket_heat");
  std::memcpy(buffer, &metrics, sizeof metrics);
  return kSuccess;
}
EXPORT uint32_t amdsmi_get_gpu_process_list(Handle processor, uint32_t* count, void* list) {
  const Part& part = card(processor);
  uint32_t room = *count;
  *count = static_cast<uint32_t>(part.processes.size());
  for (uint32_t i = 0; i < std::min(room, *count); ++i) {
    auto* entry = static_cast<unsigned char*>(list) + i * kProcess.size;
    uint32_t pid = part.processes[i].pid;
    uint64_t memory = part.processes[i].bytes;
    std::memcpy(entry + kProcess.pid, &pid, sizeof pid);
    std::memcpy(entry + kProcess.memory, &memory, sizeof memory);
  }
  return outcome(part, "amdsmi_get_gpu_process_list");
}

}  // extern "C"
