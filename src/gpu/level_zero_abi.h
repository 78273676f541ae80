// The binary interface of Level Zero's system management (sysman), as far as ridge calls it: our own declarations, so
// that no vendor header is needed to build. Shared with the stand-in library of the tests
// (tests/support/fake_level_zero.cc).
// Source: oneapi-src/level-zero, include/ze_api.h and include/zes_api.h of specification 1.17 (names, argument order,
// layout of structures, values); what ridge calls is unchanged since 1.0 but for zesInit (1.5) and the ECC functions
// (1.4).
#pragma once

#include <cstdint>

namespace ridge::gpu::level_zero {

struct HandleObject;
using Handle = HandleObject*;  // a driver, device or domain of a device; belongs to the library

// ze_result_t; those that ridge tells apart.
enum ResultCode : uint32_t {
  kSuccess = 0,
  kDeviceLost = 0x70000001,
  kRequiresReset = 0x70000006,
  kNoPermission = 0x70010000,
  kNotAvailable = 0x70010001,
  kDependencyUnavailable = 0x70020000,
  kUninitialized = 0x78000001,
  kUnsupportedVersion = 0x78000002,
  kUnsupportedFeature = 0x78000003,
  kInvalidArgument = 0x78000004,
  kSurvivabilityMode = 0x78000020,
  kUnknown = 0x7ffffffe,
  kFunctionNotFound = 0xffffffff,  // ridge's own: the loader lacks the function
};

// Every structure begins with its kind (zes_structure_type_t, the caller sets it) and a chain of extensions (null).
enum StructureKind : uint32_t {
  kCoreDevicePropertiesKind = 0x3,  // ze_structure_type_t
  kDevicePropertiesKind = 0x1,
  kPciPropertiesKind = 0x2,
  kEnginePropertiesKind = 0x5,
  kFrequencyPropertiesKind = 0x9,
  kMemoryPropertiesKind = 0xb,
  kPowerPropertiesKind = 0xd,
  kRasPropertiesKind = 0xf,
  kTemperaturePropertiesKind = 0x14,
  kDeviceStateKind = 0x15,
  kProcessStateKind = 0x16,
  kPciStateKind = 0x17,
  kFrequencyStateKind = 0x1b,
  kMemoryStateKind = 0x1e,
  kRasStateKind = 0x22,
  kEccPropertiesKind = 0x26,
  kPowerLimitKind = 0x27,
};

struct CoreDeviceProperties {  // ze_device_properties_t
  uint32_t kind = kCoreDevicePropertiesKind;
  void* next = nullptr;
  uint32_t type, vendor, device, flags, subdevice, clock_mhz;
  uint64_t largest_allocation;
  uint32_t shape[7];  // contexts, priorities, threads, widths, counts
  uint64_t timer_resolution;
  uint32_t timestamp_bits, kernel_timestamp_bits;
  uint8_t uuid[16];
  char name[256];
};
enum DeviceType : uint32_t { kGpu = 1 };
enum DeviceFlag : uint32_t { kIntegrated = 1 };

struct DeviceProperties {  // zes_device_properties_t
  uint32_t kind = kDevicePropertiesKind;
  void* next = nullptr;
  CoreDeviceProperties core;
  uint32_t subdevices;
  char serial[64], board[64], brand[64], model[64], vendor[64], driver_version[64];
};

struct DeviceState {  // zes_device_state_t
  uint32_t kind = kDeviceStateKind;
  const void* next = nullptr;
  uint32_t reset_reasons, repaired;
};
enum ResetReason : uint32_t { kWedged = 1, kRepair = 2 };

struct PciAddress {
  uint32_t domain, bus, device, function;
};
struct PciSpeed {  // -1: not known
  int32_t generation, lanes;
  int64_t bytes_per_s;
};
struct PciProperties {  // zes_pci_properties_t
  uint32_t kind = kPciPropertiesKind;
  void* next = nullptr;
  PciAddress address;
  PciSpeed most;
  uint8_t has_bandwidth, has_packets, has_replays;
};
struct PciState {  // zes_pci_state_t
  uint32_t kind = kPciStateKind;
  const void* next = nullptr;
  uint32_t status, quality_issues, stability_issues;
  PciSpeed now;
};
struct PciStatistics {  // zes_pci_stats_t
  uint64_t timestamp, replays, packets, received, sent;
  PciSpeed now;
};

struct MemoryProperties {  // zes_mem_properties_t
  uint32_t kind = kMemoryPropertiesKind;
  void* next = nullptr;
  uint32_t type;
  uint8_t on_subdevice;
  uint32_t subdevice, location;
  uint64_t size_bytes;
  int32_t bus_width, channels;
};
enum MemoryLocation : uint32_t { kOnDevice = 1 };
struct MemoryState {  // zes_mem_state_t
  uint32_t kind = kMemoryStateKind;
  const void* next = nullptr;
  uint32_t health;
  uint64_t free_bytes, size_bytes;
};
enum MemoryHealth : uint32_t { kHealthUnknown = 0, kHealthOk = 1, kDegraded = 2, kCritical = 3, kReplace = 4 };

struct TemperatureProperties {  // zes_temp_properties_t
  uint32_t kind = kTemperaturePropertiesKind;
  void* next = nullptr;
  uint32_t type;
  uint8_t on_subdevice;
  uint32_t subdevice;
  double most_c;  // -1: not known
  uint8_t critical_supported, threshold1_supported, threshold2_supported;
};
enum TemperatureSensor : uint32_t { kWholeCard = 0, kChip = 1 };

struct PowerProperties {  // zes_power_properties_t; limits in milliwatt, -1: not known
  uint32_t kind = kPowerPropertiesKind;
  void* next = nullptr;
  uint8_t on_subdevice;
  uint32_t subdevice;
  uint8_t can_control, threshold_supported;
  int32_t default_mw, least_mw, most_mw;
};
struct EnergyCounter {  // zes_power_energy_counter_t
  uint64_t energy_uj, timestamp_us;
};
struct SustainedLimit {  // zes_power_sustained_limit_t
  uint8_t enabled;
  int32_t power_mw, interval_ms;
};
struct BurstLimit {
  uint8_t enabled;
  int32_t power_mw;
};
struct PeakLimit {
  int32_t mains_mw, battery_mw;
};
struct PowerLimit {  // zes_power_limit_ext_desc_t
  uint32_t kind = kPowerLimitKind;
  const void* next = nullptr;
  uint32_t level, source, unit;
  uint8_t state_locked, enabled, interval_locked;
  int32_t interval_ms;
  uint8_t value_locked;
  int32_t limit;
};
enum PowerLevel : uint32_t { kSustained = 1 };
enum LimitUnit : uint32_t { kMilliwatt = 2 };

struct FrequencyProperties {  // zes_freq_properties_t [MHz]
  uint32_t kind = kFrequencyPropertiesKind;
  void* next = nullptr;
  uint32_t type;
  uint8_t on_subdevice;
  uint32_t subdevice;
  uint8_t can_control, events_supported;
  double least_mhz, most_mhz;
};
enum FrequencyDomain : uint32_t { kChipClock = 0, kMemoryClock = 1 };
struct FrequencyState {  // zes_freq_state_t; below 0: not known
  uint32_t kind = kFrequencyStateKind;
  const void* next = nullptr;
  double voltage, requested_mhz, tdp_mhz, efficient_mhz, actual_mhz;
  uint32_t throttle_reasons;  // gpu/slowdown.h
};

struct EngineProperties {  // zes_engine_properties_t
  uint32_t kind = kEnginePropertiesKind;
  void* next = nullptr;
  uint32_t type;
  uint8_t on_subdevice;
  uint32_t subdevice;
};
enum EngineGroup : uint32_t { kAllEngines = 0, kAllComputeEngines = 1 };
struct EngineActivity {  // zes_engine_stats_t, both in the same unit
  uint64_t active, timestamp;
};

struct RasProperties {  // zes_ras_properties_t
  uint32_t kind = kRasPropertiesKind;
  void* next = nullptr;
  uint32_t type;
  uint8_t on_subdevice;
  uint32_t subdevice;
};
enum RasType : uint32_t { kCorrectable = 0, kUncorrectable = 1 };
struct RasState {  // zes_ras_state_t
  uint32_t kind = kRasStateKind;
  const void* next = nullptr;
  uint64_t category[7];
};
enum RasCategory : int { kComputeErrors = 3, kNonComputeErrors = 4, kCacheErrors = 5 };

struct EccProperties {  // zes_device_ecc_properties_t
  uint32_t kind = kEccPropertiesKind;
  void* next = nullptr;
  uint32_t current, pending, pending_action;
};
enum EccState : uint32_t { kEccUnavailable = 0, kEccEnabled = 1, kEccDisabled = 2 };

struct ProcessState {  // zes_process_state_t
  uint32_t kind = kProcessStateKind;
  const void* next = nullptr;
  uint32_t pid;
  uint64_t memory_bytes, shared_bytes;
  uint32_t engines;
};

// FUNCTION(name, type): what is looked up. All are optional but the first block; zesInit and zesDriverGet came with
// 1.5, before them the library was started by zeInit with ZES_ENABLE_SYSMAN=1 in the environment.
#define RIDGE_LEVEL_ZERO_REQUIRED(FUNCTION)                                    \
  FUNCTION(zeInit, uint32_t(uint32_t flags))                                   \
  FUNCTION(zeDriverGet, uint32_t(uint32_t* count, Handle*))                    \
  FUNCTION(zeDeviceGet, uint32_t(Handle driver, uint32_t* count, Handle*))     \
  FUNCTION(zesDeviceGetProperties, uint32_t(Handle device, DeviceProperties*)) \
  FUNCTION(zesDevicePciGetProperties, uint32_t(Handle device, PciProperties*))

#define RIDGE_LEVEL_ZERO_OPTIONAL(FUNCTION)                                                     \
  FUNCTION(zesInit, uint32_t(uint32_t flags))                                                   \
  FUNCTION(zesDriverGet, uint32_t(uint32_t* count, Handle*))                                    \
  FUNCTION(zesDeviceGet, uint32_t(Handle driver, uint32_t* count, Handle*))                     \
  FUNCTION(zesDeviceGetState, uint32_t(Handle device, DeviceState*))                            \
  FUNCTION(zesDevicePciGetState, uint32_t(Handle device, PciState*))                            \
  FUNCTION(zesDevicePciGetStats, uint32_t(Handle device, PciStatistics*))                       \
  FUNCTION(zesDeviceEnumMemoryModules, uint32_t(Handle device, uint32_t* count, Handle*))       \
  FUNCTION(zesMemoryGetProperties, uint32_t(Handle memory, MemoryProperties*))                  \
  FUNCTION(zesMemoryGetState, uint32_t(Handle memory, MemoryState*))                            \
  FUNCTION(zesDeviceEnumTemperatureSensors, uint32_t(Handle device, uint32_t* count, Handle*))  \
  FUNCTION(zesTemperatureGetProperties, uint32_t(Handle sensor, TemperatureProperties*))        \
  FUNCTION(zesTemperatureGetState, uint32_t(Handle sensor, double* celsius))                    \
  FUNCTION(zesDeviceEnumPowerDomains, uint32_t(Handle device, uint32_t* count, Handle*))        \
  FUNCTION(zesPowerGetProperties, uint32_t(Handle power, PowerProperties*))                     \
  FUNCTION(zesPowerGetEnergyCounter, uint32_t(Handle power, EnergyCounter*))                    \
  FUNCTION(zesPowerGetLimits, uint32_t(Handle power, SustainedLimit*, BurstLimit*, PeakLimit*)) \
  FUNCTION(zesPowerGetLimitsExt, uint32_t(Handle power, uint32_t* count, PowerLimit*))          \
  FUNCTION(zesDeviceEnumFrequencyDomains, uint32_t(Handle device, uint32_t* count, Handle*))    \
  FUNCTION(zesFrequencyGetProperties, uint32_t(Handle clock, FrequencyProperties*))             \
  FUNCTION(zesFrequencyGetState, uint32_t(Handle clock, FrequencyState*))                       \
  FUNCTION(zesDeviceEnumEngineGroups, uint32_t(Handle device, uint32_t* count, Handle*))        \
  FUNCTION(zesEngineGetProperties, uint32_t(Handle engine, EngineProperties*))                  \
  FUNCTION(zesEngineGetActivity, uint32_t(Handle engine, EngineActivity*))                      \
  FUNCTION(zesDeviceEnumRasErrorSets, uint32_t(Handle device, uint32_t* count, Handle*))        \
  FUNCTION(zesRasGetProperties, uint32_t(Handle errors, RasProperties*))                        \
  FUNCTION(zesRasGetState, uint32_t(Handle errors, uint8_t clear, RasState*))                   \
  FUNCTION(zesDeviceGetEccState, uint32_t(Handle device, EccProperties*))                       \
  FUNCTION(zesDeviceProcessesGetState, uint32_t(Handle device, uint32_t* count, ProcessState*))

}  // namespace ridge::gpu::level_zero
