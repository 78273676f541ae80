// The binary interface of NVIDIA's management library, as far as ridge uses it: our own declarations, so that the build
// needs no vendor header; tests/abi compares them with nvml.h.
// Source: NVML API reference, https://docs.nvidia.com/deploy/nvml-api/ (names, argument order, layout of structures).
//
// The library promises binary compatibility: a structure or signature changes only together with the _vN of a name.
#pragma once

#include <cstdint>

namespace ridge::gpu::nvml {

struct DeviceObject;
using Device = DeviceObject*;  // belongs to the library

// nvmlReturn_t; those that ridge distinguishes.
enum ReturnCode : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kVersionMismatch = 18,  // library and kernel module are of different versions
  kUnknown = 999,
};

struct PciInfo {  // nvmlPciInfo_t
  char bus_id_legacy[16];
  unsigned domain, bus, device;
  unsigned device_and_vendor;  // device << 16 | vendor
  unsigned subsystem;
  char bus_id[32];  // "00000000:3B:00.0"
};

struct MemoryInfo {  // nvmlMemory_t [bytes]
  unsigned long long total, free, used;
};

struct Utilization {  // nvmlUtilization_t [percent of the last sample period]
  unsigned gpu, memory;
};

struct ProcessInfo {  // nvmlProcessInfo_t of _v2 and _v3
  unsigned pid;
  unsigned long long memory_bytes;  // kNoMemoryFigure: not known
  unsigned gpu_instance, compute_instance;
};
constexpr unsigned long long kNoMemoryFigure = ~0ULL;

struct FieldValue {  // nvmlFieldValue_t
  unsigned field;
  unsigned scope;                 // of a link: its index
  long long timestamp, duration;  // [us]
  int type;                       // of `value`
  int result;                     // ReturnCode
  union {
    unsigned u;
    unsigned long long ull;
  } value;
};
enum ValueType : int {
  kUnsigned = 1,
  kUnsignedLong = 2,
  kUnsignedLongLong = 3
};  // nvmlValueType_t, 2 and 3 alike here
// Draw of the GPU alone (scope 0), now [mW]; nvmlDeviceGetPowerUsage is a mean over a second since Ampere, not GA100.
constexpr unsigned kFieldPowerInstant = 186;
// NVLink 5: number of retrainings of the link, with or without success.
constexpr unsigned kFieldLinkRecoveries = 215;

constexpr unsigned kMaxLinks = 36;  // NVML_NVLINK_MAX_LINKS of NVML 13; it was 18 and 6 before
enum LinkCounter : int { kLinkReplay = 0, kLinkRecovery = 1, kLinkCrcFlit = 2 };  // nvmlNvLinkErrorCounter_t

struct DeviceAttributes {  // nvmlDeviceAttributes_t, of a MIG device
  unsigned multiprocessors;
  unsigned copy_engines, decoders, encoders, jpeg_engines, optical_flow_engines;
  unsigned gpu_slices, compute_slices;
  unsigned long long memory_mib;
};

// Arguments
enum ClockType : int { kGraphicsClock = 0, kSmClock = 1, kMemoryClock = 2 };
enum ErrorType : int { kCorrected = 0, kUncorrected = 1 };
enum CounterType : int { kSinceStart = 0, kEver = 1 };  // NVML: volatile, aggregate
enum ThresholdType : int { kShutdown = 0, kSlowdown = 1 };
// Answers: nvmlGpuTopologyLevel_t.
enum TopologyLevel : int {
  kSameBoard = 0,
  kOneSwitch = 10,
  kSeveralSwitches = 20,
  kHostBridge = 30,
  kSameNode = 40,
  kSystem = 50
};

// nvmlClocksEventReasons (until driver 535: nvmlClocksThrottleReasons), bits.
enum SlowdownBit : uint64_t {
  kGpuIdle = 0x1,
  kApplicationClocks = 0x2,
  kSoftwarePowerCap = 0x4,
  kHardwareSlowdown = 0x8,
  kSyncBoost = 0x10,
  kSoftwareThermal = 0x20,
  kHardwareThermal = 0x40,
  kHardwarePowerBrake = 0x80,
  kDisplayClock = 0x100,
};

// FUNCTION(name, type): the functions to look up. All are optional except the first block: an older driver lacks the
// newer ones.
#define RIDGE_NVML_REQUIRED(FUNCTION)                             \
  FUNCTION(nvmlInit_v2, int())                                    \
  FUNCTION(nvmlShutdown, int())                                   \
  FUNCTION(nvmlErrorString, const char*(int))                     \
  FUNCTION(nvmlSystemGetDriverVersion, int(char*, unsigned))      \
  FUNCTION(nvmlDeviceGetCount_v2, int(unsigned*))                 \
  FUNCTION(nvmlDeviceGetHandleByIndex_v2, int(unsigned, Device*)) \
  FUNCTION(nvmlDeviceGetName, int(Device, char*, unsigned))       \
  FUNCTION(nvmlDeviceGetUUID, int(Device, char*, unsigned))

#define RIDGE_NVML_OPTIONAL(FUNCTION)                                                          \
  FUNCTION(nvmlSystemGetNVMLVersion, int(char*, unsigned))                                     \
  FUNCTION(nvmlSystemGetCudaDriverVersion_v2, int(int*))                                       \
  FUNCTION(nvmlDeviceGetPciInfo_v3, int(Device, PciInfo*))                                     \
  FUNCTION(nvmlDeviceGetCudaComputeCapability, int(Device, int*, int*))                        \
  FUNCTION(nvmlDeviceGetMemoryInfo, int(Device, MemoryInfo*))                                  \
  FUNCTION(nvmlDeviceGetUtilizationRates, int(Device, Utilization*))                           \
  FUNCTION(nvmlDeviceGetEccMode, int(Device, int*, int*))                                      \
  FUNCTION(nvmlDeviceGetTotalEccErrors, int(Device, int, int, unsigned long long*))            \
  FUNCTION(nvmlDeviceGetRemappedRows, int(Device, unsigned*, unsigned*, unsigned*, unsigned*)) \
  FUNCTION(nvmlDeviceGetPersistenceMode, int(Device, int*))                                    \
  FUNCTION(nvmlDeviceGetComputeMode, int(Device, int*))                                        \
  FUNCTION(nvmlDeviceGetPerformanceState, int(Device, int*))                                   \
  FUNCTION(nvmlDeviceGetCurrentClocksEventReasons, int(Device, unsigned long long*))           \
  FUNCTION(nvmlDeviceGetCurrentClocksThrottleReasons, int(Device, unsigned long long*))        \
  FUNCTION(nvmlDeviceGetMigMode, int(Device, unsigned*, unsigned*))                            \
  FUNCTION(nvmlDeviceGetMaxMigDeviceCount, int(Device, unsigned*))                             \
  FUNCTION(nvmlDeviceGetMigDeviceHandleByIndex, int(Device, unsigned, Device*))                \
  FUNCTION(nvmlDeviceGetComputeRunningProcesses_v3, int(Device, unsigned*, ProcessInfo*))      \
  FUNCTION(nvmlDeviceGetComputeRunningProcesses_v2, int(Device, unsigned*, ProcessInfo*))      \
  FUNCTION(nvmlDeviceGetCurrPcieLinkGeneration, int(Device, unsigned*))                        \
  FUNCTION(nvmlDeviceGetMaxPcieLinkGeneration, int(Device, unsigned*))                         \
  FUNCTION(nvmlDeviceGetCurrPcieLinkWidth, int(Device, unsigned*))                             \
  FUNCTION(nvmlDeviceGetMaxPcieLinkWidth, int(Device, unsigned*))                              \
  FUNCTION(nvmlDeviceGetPcieReplayCounter, int(Device, unsigned*))                             \
  FUNCTION(nvmlDeviceGetTemperature, int(Device, int, unsigned*))                              \
  FUNCTION(nvmlDeviceGetTemperatureThreshold, int(Device, int, unsigned*))                     \
  FUNCTION(nvmlDeviceGetPowerUsage, int(Device, unsigned*))                                    \
  FUNCTION(nvmlDeviceGetEnforcedPowerLimit, int(Device, unsigned*))                            \
  FUNCTION(nvmlDeviceGetPowerManagementDefaultLimit, int(Device, unsigned*))                   \
  FUNCTION(nvmlDeviceGetPowerManagementLimitConstraints, int(Device, unsigned*, unsigned*))    \
  FUNCTION(nvmlDeviceGetTotalEnergyConsumption, int(Device, unsigned long long*))              \
  FUNCTION(nvmlDeviceGetClockInfo, int(Device, int, unsigned*))                                \
  FUNCTION(nvmlDeviceGetMaxClockInfo, int(Device, int, unsigned*))                             \
  FUNCTION(nvmlDeviceGetArchitecture, int(Device, unsigned*))                                  \
  FUNCTION(nvmlDeviceGetNumGpuCores, int(Device, unsigned*))                                   \
  FUNCTION(nvmlDeviceGetMemoryBusWidth, int(Device, unsigned*))                                \
  FUNCTION(nvmlDeviceGetAttributes_v2, int(Device, DeviceAttributes*))                         \
  FUNCTION(nvmlDeviceGetGpuInstanceId, int(Device, unsigned*))                                 \
  FUNCTION(nvmlDeviceGetComputeInstanceId, int(Device, unsigned*))                             \
  FUNCTION(nvmlDeviceGetTopologyCommonAncestor, int(Device, Device, int*))                     \
  FUNCTION(nvmlDeviceGetPowerManagementLimit, int(Device, unsigned*))                          \
  FUNCTION(nvmlDeviceSetPowerManagementLimit, int(Device, unsigned))                           \
  FUNCTION(nvmlDeviceGetNvLinkState, int(Device, unsigned, int*))                              \
  FUNCTION(nvmlDeviceGetNvLinkRemotePciInfo_v2, int(Device, unsigned, PciInfo*))               \
  FUNCTION(nvmlDeviceGetNvLinkErrorCounter, int(Device, unsigned, int, unsigned long long*))   \
  FUNCTION(nvmlDeviceGetFieldValues, int(Device, int, FieldValue*))

}  // namespace ridge::gpu::nvml
