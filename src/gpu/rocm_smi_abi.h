// The binary interface of AMD's ROCm SMI library, as far as ridge calls it: our own declarations, so that no vendor
// header is needed to build. Shared with the stand-in library of the tests (tests/support/fake_rocm_smi.cc).
// Source: ROCm/rocm_smi_lib, include/rocm_smi/rocm_smi.h of ROCm 5.0 to 7.0 (names, argument order, layout of
// structures, values; the versions differ only where a comment says so).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ridge::gpu::rocm_smi {

// rsmi_status_t; those that ridge tells apart.
enum StatusCode : uint32_t {
  kSuccess = 0,
  kInvalidArguments = 1,
  kNotSupported = 2,
  kFileError = 3,
  kPermission = 4,
  kInitError = 8,
  kNotYetImplemented = 9,
  kNotFound = 10,
  kInsufficientSize = 11,
  kNoData = 14,
  kBusy = 16,
  kFunctionNotFound = 0xFFFFFFFE,  // ridge's own: the library lacks the function
};

// rsmi_frequencies_t [Hz], or [transfers/s] of a PCIe link; `current` is an index, ~0: none. Until ROCm 5.7 without the
// first member and with 32 frequencies: FrequenciesV5.
constexpr uint32_t kMostFrequencies = 33;
struct Frequencies {
  bool has_deep_sleep;
  uint32_t supported;
  uint32_t current;
  uint64_t frequency[kMostFrequencies];
};
struct FrequenciesV5 {
  uint32_t supported;
  uint32_t current;
  uint64_t frequency[32];
};

struct PcieBandwidth {  // rsmi_pcie_bandwidth_t
  Frequencies transfer_rate;
  uint32_t lanes[kMostFrequencies];
};
struct PcieBandwidthV5 {
  FrequenciesV5 transfer_rate;
  uint32_t lanes[32];
};

struct ErrorCount {  // rsmi_error_count_t
  uint64_t correctable, uncorrectable;
};

struct RetiredPage {  // rsmi_retired_page_record_t
  enum : uint32_t { kReserved = 0, kPending = 1, kUnreservable = 2 };
  uint64_t address, size;
  uint32_t status;
};

struct ProcessInfo {  // rsmi_process_info_t
  uint32_t process_id, pasid;
  uint64_t memory_bytes, sdma_usage;
  uint32_t occupancy;
};

// Arguments
enum ClockType : uint32_t { kSystemClock = 0, kMemoryClock = 4 };
enum MemoryType : uint32_t { kVideoMemory = 0 };
enum TemperatureSensor : uint32_t { kEdge = 0, kJunction = 1 };
enum TemperatureMetric : uint32_t { kTemperatureNow = 0, kTemperatureCritical = 5 };
enum Component : uint32_t { kDriver = 0 };
constexpr uint64_t kMemoryBlock = 1;                // RSMI_GPU_BLOCK_UMC, the lowest bit
constexpr uint64_t kLastBlock = uint64_t{1} << 18;  // blocks are bits; 13 in ROCm 6, 18 in AMD SMI

// FUNCTION(name, type): what is looked up; cards are counted from 0. All are optional but the first block.
#define RIDGE_ROCM_SMI_REQUIRED(FUNCTION)                                      \
  FUNCTION(rsmi_init, uint32_t(uint64_t flags))                                \
  FUNCTION(rsmi_shut_down, uint32_t())                                         \
  FUNCTION(rsmi_status_string, uint32_t(uint32_t, const char**))               \
  FUNCTION(rsmi_num_monitor_devices, uint32_t(uint32_t*))                      \
  FUNCTION(rsmi_dev_name_get, uint32_t(uint32_t, char*, size_t))               \
  FUNCTION(rsmi_dev_pci_id_get, uint32_t(uint32_t, uint64_t*))                 \
  FUNCTION(rsmi_dev_memory_total_get, uint32_t(uint32_t, uint32_t, uint64_t*)) \
  FUNCTION(rsmi_dev_memory_usage_get, uint32_t(uint32_t, uint32_t, uint64_t*))

#define RIDGE_ROCM_SMI_OPTIONAL(FUNCTION)                                                               \
  FUNCTION(rsmi_version_str_get, uint32_t(uint32_t component, char*, uint32_t))                         \
  FUNCTION(rsmi_dev_market_name_get, uint32_t(uint32_t, char*, uint32_t))                               \
  FUNCTION(rsmi_dev_unique_id_get, uint32_t(uint32_t, uint64_t*))                                       \
  FUNCTION(rsmi_dev_busy_percent_get, uint32_t(uint32_t, uint32_t*))                                    \
  FUNCTION(rsmi_dev_temp_metric_get, uint32_t(uint32_t, uint32_t sensor, uint32_t metric, int64_t* mc)) \
  FUNCTION(rsmi_dev_power_get, uint32_t(uint32_t, uint64_t* uw, uint32_t* type))                        \
  FUNCTION(rsmi_dev_power_ave_get, uint32_t(uint32_t, uint32_t sensor, uint64_t* uw))                   \
  FUNCTION(rsmi_dev_power_cap_get, uint32_t(uint32_t, uint32_t sensor, uint64_t* uw))                   \
  FUNCTION(rsmi_dev_power_cap_default_get, uint32_t(uint32_t, uint64_t* uw))                            \
  FUNCTION(rsmi_dev_power_cap_range_get, uint32_t(uint32_t, uint32_t, uint64_t* most, uint64_t* least)) \
  FUNCTION(rsmi_dev_energy_count_get, uint32_t(uint32_t, uint64_t*, float* resolution_uj, uint64_t*))   \
  FUNCTION(rsmi_dev_gpu_clk_freq_get, uint32_t(uint32_t, uint32_t clock, void* frequencies))            \
  FUNCTION(rsmi_dev_pci_bandwidth_get, uint32_t(uint32_t, void* bandwidth))                             \
  FUNCTION(rsmi_dev_pci_replay_counter_get, uint32_t(uint32_t, uint64_t*))                              \
  FUNCTION(rsmi_dev_perf_level_get, uint32_t(uint32_t, uint32_t*))                                      \
  FUNCTION(rsmi_dev_compute_partition_get, uint32_t(uint32_t, char*, uint32_t))                         \
  FUNCTION(rsmi_dev_ecc_enabled_get, uint32_t(uint32_t, uint64_t* blocks))                              \
  FUNCTION(rsmi_dev_ecc_count_get, uint32_t(uint32_t, uint64_t block, ErrorCount*))                     \
  FUNCTION(rsmi_dev_memory_reserved_pages_get, uint32_t(uint32_t, uint32_t* count, RetiredPage*))       \
  FUNCTION(rsmi_dev_gpu_metrics_info_get, uint32_t(uint32_t, void* metrics))                            \
  FUNCTION(rsmi_compute_process_info_get, uint32_t(ProcessInfo*, uint32_t* count))                      \
  FUNCTION(rsmi_compute_process_gpus_get, uint32_t(uint32_t pid, uint32_t* cards, uint32_t* count))     \
  FUNCTION(rsmi_compute_process_info_by_device_get, uint32_t(uint32_t pid, uint32_t, ProcessInfo*))     \
  /* Came with ROCm 6.0, as Frequencies did: only its presence is of interest. */                       \
  FUNCTION(rsmi_dev_metrics_header_info_get, uint32_t(uint32_t, void*))

}  // namespace ridge::gpu::rocm_smi
