// A stand-in for AMD's ROCm SMI library (librocm_smi64.so) that plays the cards of a script. Loaded by
// RIDGE_ROCM_SMI=<this file>; the script is the text file that RIDGE_FAKE_ROCM_SMI names. How one is written:
// scripted_cards.h; its `fail` lines give ROCm SMI's status codes. Beside the names of src/gpu/card.h a card has:
//
//   throttle_status 0x1             amdgpu's independent throttle status
//   held_by_signal 1 (also power, socket_heat, regulator_heat, memory_heat)  this counter grows from look to look
//
// With FAKE_ROCM_SMI_OLD defined it is one of ROCm 5: clocks and links in the older layout, metrics that end early, and
// the functions that came later are missing. With FAKE_ROCM_SMI_ANCIENT it lacks what ridge cannot do without.
#include <algorithm>
#include <cstring>
#include <set>

#include "gpu/amd_metrics.h"
#include "gpu/rocm_smi_abi.h"
#include "scripted_cards.h"

using namespace ridge;
using namespace ridge::gpu::rocm_smi;
using fake::number_of, fake::Part, fake::Script, fake::says, fake::script_of;
using gpu::kPerformanceLevels;

namespace {

constexpr fake::Codes<uint32_t> kCodes{kSuccess, kNotSupported, kInsufficientSize};

Script& script() { return script_of("RIDGE_FAKE_ROCM_SMI"); }
const Part& card(uint32_t index) { return script().cards.at(index); }

uint32_t outcome(const Part& part, const char* function) { return fake::outcome(part, function, uint32_t{kSuccess}); }

template <typename T>
uint32_t number(uint32_t index, const char* function, const char* key, T* value, uint64_t factor = 1) {
  return fake::number(kCodes, card(index), function, key, value, factor);
}

uint32_t text(const Part& part, const char* function, const char* key, char* buffer, size_t size) {
  return fake::text(kCodes, part, function, key, buffer, size);
}

#ifdef FAKE_ROCM_SMI_OLD
using Levels = FrequenciesV5;
using Bandwidth = PcieBandwidthV5;
constexpr size_t kMetricsWritten = offsetof(gpu::AmdMetrics, firmware_time);
#else
using Levels = Frequencies;
using Bandwidth = PcieBandwidth;
constexpr size_t kMetricsWritten = sizeof(gpu::AmdMetrics);
#endif

constexpr uint64_t kRates[] = {0, 2500000000, 5000000000, 8000000000, 16000000000, 32000000000, 64000000000};

// A lowest level, the one it is at, and the highest.
Levels levels_of(uint64_t now, uint64_t most) {
  Levels levels{};
  levels.supported = 3;
  levels.current = now == most ? 2 : 1;
  levels.frequency[0] = std::min<uint64_t>(now, most) / 2;
  levels.frequency[1] = now;
  levels.frequency[2] = most;
  return levels;
}

}  // namespace

extern "C" {

#define EXPORT __attribute__((visibility("default")))

EXPORT uint32_t rsmi_init(uint64_t) { return outcome(script().system, "rsmi_init"); }
EXPORT uint32_t rsmi_shut_down() { return kSuccess; }
EXPORT uint32_t rsmi_status_string(uint32_t status, const char** words) {
  *words = status == kNotSupported ? "not supported"
           : status == kPermission ? "permission denied"
           : status == kFileError  ? "file error"
           : status == kInitError  ? "could not be initialised"
                                   : "some error";
  return kSuccess;
}
EXPORT uint32_t rsmi_num_monitor_devices(uint32_t* count) {
  *count = static_cast<uint32_t>(script().cards.size());
  return outcome(script().system, "rsmi_num_monitor_devices");
}
EXPORT uint32_t rsmi_dev_name_get(uint32_t index, char* buffer, size_t size) {
  return text(card(index), "rsmi_dev_name_get", "name", buffer, size);
}
EXPORT uint32_t rsmi_dev_pci_id_get(uint32_t index, uint64_t* id) {
  fake::Address address = fake::address_of(card(index));
  *id = uint64_t{address.domain} << 32 | address.bus << 8 | address.device << 3 | address.function;
  return outcome(card(index), "rsmi_dev_pci_id_get");
}
#ifndef FAKE_ROCM_SMI_ANCIENT
EXPORT uint32_t rsmi_dev_memory_total_get(uint32_t index, uint32_t, uint64_t* bytes) {
  return number(index, "rsmi_dev_memory_total_get", "memory_total_bytes", bytes);
}
EXPORT uint32_t rsmi_dev_memory_usage_get(uint32_t index, uint32_t, uint64_t* bytes) {
  return number(index, "rsmi_dev_memory_usage_get", "memory_used_bytes", bytes);
}
#endif
EXPORT uint32_t rsmi_version_str_get(uint32_t, char* buffer, uint32_t size) {
  return text(script().system, "rsmi_version_str_get", "driver_version", buffer, size);
}
EXPORT uint32_t rsmi_dev_unique_id_get(uint32_t index, uint64_t* id) {
  return number(index, "rsmi_dev_unique_id_get", "uuid", id);
}
EXPORT uint32_t rsmi_dev_busy_percent_get(uint32_t index, uint32_t* percent) {
  return number(index, "rsmi_dev_busy_percent_get", "utilization_percent", percent);
}
EXPORT uint32_t rsmi_dev_temp_metric_get(uint32_t index, uint32_t sensor, uint32_t metric, int64_t* value) {
  if (sensor != kJunction) return kNotSupported;
  const char* key = metric == kTemperatureCritical ? "slowdown_temperature_c" : "temperature_c";
  return number(index, "rsmi_dev_temp_metric_get", key, value, 1000);
}
EXPORT uint32_t rsmi_dev_power_ave_get(uint32_t index, uint32_t, uint64_t* value) {
  return number(index, "rsmi_dev_power_ave_get", "power_mw", value, 1000);
}
EXPORT uint32_t rsmi_dev_power_cap_get(uint32_t index, uint32_t, uint64_t* value) {
  return number(index, "rsmi_dev_power_cap_get", "power_limit_mw", value, 1000);
}
EXPORT uint32_t rsmi_dev_power_cap_default_get(uint32_t index, uint64_t* value) {
  return number(index, "rsmi_dev_power_cap_default_get", "power_limit_default_mw", value, 1000);
}
EXPORT uint32_t rsmi_dev_power_cap_range_get(uint32_t index, uint32_t, uint64_t* most, uint64_t* least) {
  uint32_t status = number(index, "rsmi_dev_power_cap_range_get", "power_limit_max_mw", most, 1000);
  return status != kSuccess ? status : number(index, "rsmi_dev_power_cap_range_get", "power_limit_min_mw", least, 1000);
}
EXPORT uint32_t rsmi_dev_energy_count_get(uint32_t index, uint64_t* count, float* resolution_uj, uint64_t* time) {
  *resolution_uj = 15.625F;  // 64 steps are a millijoule
  *time = 0;
  return number(index, "rsmi_dev_energy_count_get", "energy_mj", count, 64);
}
EXPORT uint32_t rsmi_dev_gpu_clk_freq_get(uint32_t index, uint32_t clock, void* frequencies) {
  const char* key = clock == kMemoryClock ? "memory_clock_mhz" : "sm_clock_mhz";
  const char* key_max = clock == kMemoryClock ? "memory_clock_max_mhz" : "sm_clock_max_mhz";
  uint64_t now = 0, most = 0;
  uint32_t status = number(index, "rsmi_dev_gpu_clk_freq_get", key, &now, 1000000);
  if (status == kSuccess) status = number(index, "rsmi_dev_gpu_clk_freq_get", key_max, &most, 1000000);
  Levels levels = levels_of(now, most);
  if (status == kSuccess) std::memcpy(frequencies, &levels, sizeof levels);
  return status;
}
EXPORT uint32_t rsmi_dev_pci_bandwidth_get(uint32_t index, void* bandwidth) {
  const Part& part = card(index);
  if (uint32_t status = outcome(part, "rsmi_dev_pci_bandwidth_get"); status != kSuccess) return status;
  if (!says(part, "pcie_width_max")) return kNotSupported;
  Bandwidth levels{};
  uint64_t now = kRates[number_of(part, "pcie_generation")], most = kRates[number_of(part, "pcie_generation_max")];
  levels.transfer_rate = levels_of(now, most);
  levels.transfer_rate.current = 1;
  levels.lanes[0] = 1;
  levels.lanes[1] = static_cast<uint32_t>(number_of(part, "pcie_width"));
  levels.lanes[2] = static_cast<uint32_t>(number_of(part, "pcie_width_max"));
  std::memcpy(bandwidth, &levels, sizeof levels);
  return kSuccess;
}
EXPORT uint32_t rsmi_dev_pci_replay_counter_get(uint32_t index, uint64_t* count) {
  return number(index, "rsmi_dev_pci_replay_counter_get", "pcie_replays", count);
}
EXPORT uint32_t rsmi_dev_perf_level_get(uint32_t index, uint32_t* level) {
  const Part& part = card(index);
  if (uint32_t status = outcome(part, "rsmi_dev_perf_level_get"); status != kSuccess) return status;
  const auto* found =
      std::find(std::begin(kPerformanceLevels), std::end(kPerformanceLevels), text_of(part, "performance_level"));
  if (found == std::end(kPerformanceLevels)) return kNotSupported;
  *level = static_cast<uint32_t>(found - std::begin(kPerformanceLevels));
  return kSuccess;
}
EXPORT uint32_t rsmi_dev_ecc_enabled_get(uint32_t index, uint64_t* blocks) {
  return number(index, "rsmi_dev_ecc_enabled_get", "ecc", blocks, 5);  // memory and graphics
}
EXPORT uint32_t rsmi_dev_ecc_count_get(uint32_t index, uint64_t block, ErrorCount* errors) {
  const bool memory = block == kMemoryBlock;  // the graphics block has none
  *errors = {memory ? number_of(card(index), "ecc_corrected") : 0,
             memory ? number_of(card(index), "ecc_uncorrected") : 0};
  return outcome(card(index), "rsmi_dev_ecc_count_get");
}
EXPORT uint32_t rsmi_dev_memory_reserved_pages_get(uint32_t index, uint32_t* count, RetiredPage* pages) {
  const Part& part = card(index);
  if (uint32_t status = outcome(part, "rsmi_dev_memory_reserved_pages_get"); status != kSuccess) return status;
  if (!says(part, "rows_remapped")) return kNotSupported;
  *count = static_cast<uint32_t>(number_of(part, "rows_remapped"));
  uint32_t status = number_of(part, "row_remap_pending") != 0 ? RetiredPage::kPending : RetiredPage::kReserved;
  if (pages != nullptr) std::fill_n(pages, *count, RetiredPage{0x1000, 4096, status});
  return kSuccess;
}
EXPORT uint32_t rsmi_dev_gpu_metrics_info_get(uint32_t index, void* buffer) {
  const Part& part = card(index);
  if (uint32_t status = outcome(part, "rsmi_dev_gpu_metrics_info_get"); status != kSuccess) return status;
  static uint64_t look = 0;
  gpu::AmdMetrics metrics;
  std::memset(&metrics, 0xFF, sizeof metrics);
  if (says(part, "throttle_status")) metrics.independent_throttle_status = number_of(part, "throttle_status");
  metrics.accumulations = ++look * 100;
  metrics.held_by_signal = look * number_of(part, "held_by_signal");
  metrics.held_by_power = look * number_of(part, "held_by_power");
  metrics.held_by_socket_heat = look * number_of(part, "held_by_socket_heat");
  metrics.held_by_regulator_heat = look * number_of(part, "held_by_regulator_heat");
  metrics.held_by_memory_heat = look * number_of(part, "held_by_memory_heat");
  std::memcpy(buffer, &metrics, kMetricsWritten);
  return kSuccess;
}
EXPORT uint32_t rsmi_compute_process_info_get(ProcessInfo* processes, uint32_t* count) {
  uint32_t room = processes != nullptr ? *count : 0;
  std::set<unsigned> pids;  // a process on several cards is one
  for (const Part& part : script().cards)
    for (const fake::Process& process : part.processes) pids.insert(process.pid);
  *count = 0;
  for (unsigned pid : pids) {
    if (*count < room) processes[*count] = {pid, 0, 0, 0, 0};
    ++*count;
  }
  return kSuccess;
}
EXPORT uint32_t rsmi_compute_process_gpus_get(uint32_t pid, uint32_t* cards, uint32_t* count) {
  *count = 0;
  for (uint32_t i = 0; i < script().cards.size(); ++i)
    for (const fake::Process& process : card(i).processes)
      if (process.pid == pid) cards[(*count)++] = i;
  return kSuccess;
}
EXPORT uint32_t rsmi_compute_process_info_by_device_get(uint32_t pid, uint32_t index, ProcessInfo* info) {
  for (const fake::Process& process : card(index).processes)
    if (process.pid == pid) *info = {pid, 0, process.bytes, 0, 0};
  return kSuccess;
}

#ifndef FAKE_ROCM_SMI_OLD
EXPORT uint32_t rsmi_dev_metrics_header_info_get(uint32_t, void*) { return kSuccess; }
EXPORT uint32_t rsmi_dev_power_get(uint32_t index, uint64_t* value, uint32_t* type) {
  *type = 1;
  return number(index, "rsmi_dev_power_get", "power_mw", value, 1000);
}
EXPORT uint32_t rsmi_dev_compute_partition_get(uint32_t index, char* buffer, uint32_t size) {
  return text(card(index), "rsmi_dev_compute_partition_get", "partition", buffer, size);
}
#endif

}  // extern "C"
