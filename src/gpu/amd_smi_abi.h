// The binary interface of AMD SMI, ROCm SMI's successor, as far as ridge calls it: our own declarations, so that no
// vendor header is needed to build. Shared with the stand-in library of the tests (tests/support/fake_amd_smi.cc).
// Sources: ROCm/amdsmi, include/amd_smi/amdsmi.h of library 24.7 (ROCm 6.3); layouts of 25 (ROCm 6.4) and 26 (ROCm 7.0)
// as the Python package amdsmi 6.4.3 and 7.0.2 declares them (amdsmi_wrapper.py). Texts grew from 24 to 25: ridge hands
// out buffers of kBufferBytes, larger than any structure, and reads what lies at the same place in all of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ridge::gpu::amd_smi {

struct HandleObject;
using Handle = HandleObject*;  // a socket or a processor; belongs to the library

// amdsmi_status_t; those that ridge tells apart.
enum StatusCode : uint32_t {
  kSuccess = 0,
  kInvalid = 1,
  kNotSupported = 2,
  kNotYetImplemented = 3,
  kApiFailed = 7,
  kNoPermission = 10,
  kInputOutput = 12,
  kFileError = 14,
  kOutOfResources = 15,
  kNotFound = 31,
  kDriverNotLoaded = 34,
  kFunctionNotFound = 0xFFFFFFF0,  // ridge's own: the library lacks the function
};

constexpr size_t kBufferBytes = 8192;
constexpr size_t kNameBytes = 256;  // amdsmi_asic_info_t begins with the name, amdsmi_driver_info_t with the version

struct EngineUsage {  // amdsmi_engine_usage_t [percent]
  uint32_t graphics, memory, multimedia, reserved[13];
};

struct PowerCaps {  // amdsmi_power_cap_info_t [uW]; some versions fill in watts, see amd_smi.cc
  uint64_t now, by_default, dpm_mhz, least, most, reserved[3];
};

struct ClockInfo {  // amdsmi_clk_info_t [MHz]
  uint32_t now, least, most;
  uint8_t locked, deep_sleep;
  uint32_t reserved[4];
};

struct PcieInfo {  // amdsmi_pcie_info_t [lanes], [MT/s]
  uint16_t most_lanes;
  uint32_t most_speed, interface_version, slot;
  uint64_t reserved_static[10];
  uint16_t lanes;
  uint32_t speed, bandwidth;
  uint64_t replays;
  uint64_t reserved_metric[17];
  uint64_t reserved[32];
};

struct ErrorCount {  // amdsmi_error_count_t
  uint64_t correctable, uncorrectable, deferred, reserved[5];
};

struct RetiredPage {  // amdsmi_retired_page_record_t
  enum : uint32_t { kReserved = 0, kPending = 1, kUnreservable = 2 };
  uint64_t address, size;
  uint32_t status;
};

// amdsmi_proc_info_t: its size, and where in it process and card memory lie.
struct ProcessLayout {
  size_t size, pid, memory;
};
constexpr ProcessLayout kProcessOf24 = {224, 32, 128};
constexpr ProcessLayout kProcessSince25 = {704, 256, 352};
// amdsmi_version_t begins with the year (24, 25) until ROCm 6.4 and with the library's major (26, …) since 7.0.
constexpr uint32_t kFirstWithLongTexts = 25;

// Arguments
constexpr uint64_t kGpus = 2;  // AMDSMI_INIT_AMD_GPUS
enum ProcessorType : uint32_t { kGpu = 1 };
enum ClockType : uint32_t { kSystemClock = 0, kMemoryClock = 4 };
enum MemoryType : uint32_t { kVideoMemory = 0 };
enum TemperatureSensor : uint32_t { kEdge = 0, kHotspot = 1 };
enum TemperatureMetric : uint32_t { kTemperatureNow = 0, kTemperatureCritical = 5 };
constexpr uint64_t kMemoryBlock = 1;  // AMDSMI_GPU_BLOCK_UMC

// FUNCTION(name, type): what is looked up. All are optional but the first block.
#define RIDGE_AMD_SMI_REQUIRED(FUNCTION)                                                    \
  FUNCTION(amdsmi_init, uint32_t(uint64_t flags))                                           \
  FUNCTION(amdsmi_shut_down, uint32_t())                                                    \
  FUNCTION(amdsmi_status_code_to_string, uint32_t(uint32_t, const char**))                  \
  FUNCTION(amdsmi_get_lib_version, uint32_t(void* version))                                 \
  FUNCTION(amdsmi_get_socket_handles, uint32_t(uint32_t* count, Handle*))                   \
  FUNCTION(amdsmi_get_processor_handles, uint32_t(Handle socket, uint32_t* count, Handle*)) \
  FUNCTION(amdsmi_get_gpu_device_bdf, uint32_t(Handle, uint64_t* address))                  \
  FUNCTION(amdsmi_get_gpu_memory_total, uint32_t(Handle, uint32_t type, uint64_t*))         \
  FUNCTION(amdsmi_get_gpu_memory_usage, uint32_t(Handle, uint32_t type, uint64_t*))

#define RIDGE_AMD_SMI_OPTIONAL(FUNCTION)                                                           \
  FUNCTION(amdsmi_get_processor_type, uint32_t(Handle, uint32_t*))                                 \
  FUNCTION(amdsmi_get_gpu_asic_info, uint32_t(Handle, void*))                                      \
  FUNCTION(amdsmi_get_gpu_driver_info, uint32_t(Handle, void*))                                    \
  FUNCTION(amdsmi_get_gpu_device_uuid, uint32_t(Handle, unsigned* size, char*))                    \
  FUNCTION(amdsmi_get_gpu_activity, uint32_t(Handle, EngineUsage*))                                \
  FUNCTION(amdsmi_get_temp_metric, uint32_t(Handle, uint32_t sensor, uint32_t metric, int64_t* c)) \
  FUNCTION(amdsmi_get_power_cap_info, uint32_t(Handle, uint32_t sensor, PowerCaps*))               \
  FUNCTION(amdsmi_get_energy_count, uint32_t(Handle, uint64_t*, float* resolution_uj, uint64_t*))  \
  FUNCTION(amdsmi_get_clock_info, uint32_t(Handle, uint32_t clock, ClockInfo*))                    \
  FUNCTION(amdsmi_get_pcie_info, uint32_t(Handle, PcieInfo*))                                      \
  FUNCTION(amdsmi_get_gpu_perf_level, uint32_t(Handle, uint32_t*))                                 \
  FUNCTION(amdsmi_get_gpu_compute_partition, uint32_t(Handle, char*, uint32_t))                    \
  FUNCTION(amdsmi_get_gpu_ecc_enabled, uint32_t(Handle, uint64_t* blocks))                         \
  FUNCTION(amdsmi_get_gpu_total_ecc_count, uint32_t(Handle, ErrorCount*))                          \
  FUNCTION(amdsmi_get_gpu_memory_reserved_pages, uint32_t(Handle, uint32_t* count, RetiredPage*))  \
  FUNCTION(amdsmi_get_gpu_metrics_info, uint32_t(Handle, void*))                                   \
  FUNCTION(amdsmi_get_gpu_process_list, uint32_t(Handle, uint32_t* count, void*))

}  // namespace ridge::gpu::amd_smi
