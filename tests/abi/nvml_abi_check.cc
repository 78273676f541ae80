// gpu/nvml/abi.h against NVIDIA's nvml.h; it compiles, or they differ.
#include "gpu/nvml/abi.h"
#include "same_abi.h"

#define NVML_NO_UNVERSIONED_FUNC_DEFS  // no function gets the name of its newest version
#include <nvml.h>

namespace ridge::gpu::nvml {
namespace {

#define FUNCTION(name, ...) static_assert(abi::SameFunction<__VA_ARGS__, decltype(::name)>::value);
RIDGE_NVML_REQUIRED(FUNCTION)
RIDGE_NVML_OPTIONAL(FUNCTION)
#undef FUNCTION

#define MEMBER(ours, theirs, mine, its)                          \
  static_assert(offsetof(ours, mine) == offsetof(theirs, its) && \
                abi::same_type<decltype(ours::mine), decltype(theirs::its)>())
static_assert(abi::same_type<PciInfo, nvmlPciInfo_t>() && abi::same_type<MemoryInfo, nvmlMemory_t>() &&
              abi::same_type<Utilization, nvmlUtilization_t>() && abi::same_type<ProcessInfo, nvmlProcessInfo_t>() &&
              abi::same_type<FieldValue, nvmlFieldValue_t>() &&
              abi::same_type<DeviceAttributes, nvmlDeviceAttributes_t>());
static_assert(offsetof(PciInfo, bus_id_legacy) == offsetof(nvmlPciInfo_t, busIdLegacy) &&
              offsetof(PciInfo, bus_id) == offsetof(nvmlPciInfo_t, busId) &&
              sizeof(PciInfo::bus_id) == sizeof(nvmlPciInfo_t::busId));
MEMBER(PciInfo, nvmlPciInfo_t, domain, domain);
MEMBER(PciInfo, nvmlPciInfo_t, bus, bus);
MEMBER(PciInfo, nvmlPciInfo_t, device, device);
MEMBER(PciInfo, nvmlPciInfo_t, device_and_vendor, pciDeviceId);
MEMBER(PciInfo, nvmlPciInfo_t, subsystem, pciSubSystemId);
MEMBER(MemoryInfo, nvmlMemory_t, total, total);
MEMBER(MemoryInfo, nvmlMemory_t, free, free);
MEMBER(MemoryInfo, nvmlMemory_t, used, used);
MEMBER(Utilization, nvmlUtilization_t, gpu, gpu);
MEMBER(Utilization, nvmlUtilization_t, memory, memory);
MEMBER(ProcessInfo, nvmlProcessInfo_t, pid, pid);
MEMBER(ProcessInfo, nvmlProcessInfo_t, memory_bytes, usedGpuMemory);
MEMBER(ProcessInfo, nvmlProcessInfo_t, gpu_instance, gpuInstanceId);
MEMBER(ProcessInfo, nvmlProcessInfo_t, compute_instance, computeInstanceId);
MEMBER(FieldValue, nvmlFieldValue_t, field, fieldId);
MEMBER(FieldValue, nvmlFieldValue_t, scope, scopeId);
MEMBER(FieldValue, nvmlFieldValue_t, timestamp, timestamp);
MEMBER(FieldValue, nvmlFieldValue_t, duration, latencyUsec);
MEMBER(FieldValue, nvmlFieldValue_t, type, valueType);
MEMBER(FieldValue, nvmlFieldValue_t, result, nvmlReturn);
static_assert(offsetof(FieldValue, value) == offsetof(nvmlFieldValue_t, value) &&
              sizeof(FieldValue::value) == sizeof(nvmlValue_t));
MEMBER(DeviceAttributes, nvmlDeviceAttributes_t, multiprocessors, multiprocessorCount);
MEMBER(DeviceAttributes, nvmlDeviceAttributes_t, copy_engines, sharedCopyEngineCount);
MEMBER(DeviceAttributes, nvmlDeviceAttributes_t, decoders, sharedDecoderCount);
MEMBER(DeviceAttributes, nvmlDeviceAttributes_t, encoders, sharedEncoderCount);
MEMBER(DeviceAttributes, nvmlDeviceAttributes_t, jpeg_engines, sharedJpegCount);
MEMBER(DeviceAttributes, nvmlDeviceAttributes_t, optical_flow_engines, sharedOfaCount);
MEMBER(DeviceAttributes, nvmlDeviceAttributes_t, gpu_slices, gpuInstanceSliceCount);
MEMBER(DeviceAttributes, nvmlDeviceAttributes_t, compute_slices, computeInstanceSliceCount);
MEMBER(DeviceAttributes, nvmlDeviceAttributes_t, memory_mib, memorySizeMB);
#undef MEMBER

#define VALUE(ours, theirs) \
  static_assert(static_cast<unsigned long long>(ours) == static_cast<unsigned long long>(theirs))
VALUE(kSuccess, NVML_SUCCESS);
VALUE(kUninitialized, NVML_ERROR_UNINITIALIZED);
VALUE(kInvalidArgument, NVML_ERROR_INVALID_ARGUMENT);
VALUE(kNotSupported, NVML_ERROR_NOT_SUPPORTED);
VALUE(kNoPermission, NVML_ERROR_NO_PERMISSION);
VALUE(kNotFound, NVML_ERROR_NOT_FOUND);
VALUE(kInsufficientSize, NVML_ERROR_INSUFFICIENT_SIZE);
VALUE(kDriverNotLoaded, NVML_ERROR_DRIVER_NOT_LOADED);
VALUE(kTimeout, NVML_ERROR_TIMEOUT);
VALUE(kFunctionNotFound, NVML_ERROR_FUNCTION_NOT_FOUND);
VALUE(kGpuIsLost, NVML_ERROR_GPU_IS_LOST);
VALUE(kResetRequired, NVML_ERROR_RESET_REQUIRED);
VALUE(kVersionMismatch, NVML_ERROR_LIB_RM_VERSION_MISMATCH);
VALUE(kUnknown, NVML_ERROR_UNKNOWN);
VALUE(kNoMemoryFigure, NVML_VALUE_NOT_AVAILABLE);
VALUE(kUnsigned, NVML_VALUE_TYPE_UNSIGNED_INT);
VALUE(kUnsignedLong, NVML_VALUE_TYPE_UNSIGNED_LONG);
VALUE(kUnsignedLongLong, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG);
VALUE(kLinkReplay, NVML_NVLINK_ERROR_DL_REPLAY);
VALUE(kLinkRecovery, NVML_NVLINK_ERROR_DL_RECOVERY);
VALUE(kLinkCrcFlit, NVML_NVLINK_ERROR_DL_CRC_FLIT);
VALUE(kGraphicsClock, NVML_CLOCK_GRAPHICS);
VALUE(kSmClock, NVML_CLOCK_SM);
VALUE(kMemoryClock, NVML_CLOCK_MEM);
VALUE(kCorrected, NVML_MEMORY_ERROR_TYPE_CORRECTED);
VALUE(kUncorrected, NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
VALUE(kSinceStart, NVML_VOLATILE_ECC);
VALUE(kEver, NVML_AGGREGATE_ECC);
VALUE(kShutdown, NVML_TEMPERATURE_THRESHOLD_SHUTDOWN);
VALUE(kSlowdown, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN);
VALUE(kSameBoard, NVML_TOPOLOGY_INTERNAL);
VALUE(kOneSwitch, NVML_TOPOLOGY_SINGLE);
VALUE(kSeveralSwitches, NVML_TOPOLOGY_MULTIPLE);
VALUE(kHostBridge, NVML_TOPOLOGY_HOSTBRIDGE);
VALUE(kSameNode, NVML_TOPOLOGY_NODE);
VALUE(kSystem, NVML_TOPOLOGY_SYSTEM);
VALUE(kGpuIdle, nvmlClocksEventReasonGpuIdle);
VALUE(kApplicationClocks, nvmlClocksEventReasonApplicationsClocksSetting);
VALUE(kSoftwarePowerCap, nvmlClocksEventReasonSwPowerCap);
VALUE(kHardwareSlowdown, nvmlClocksThrottleReasonHwSlowdown);
VALUE(kSyncBoost, nvmlClocksEventReasonSyncBoost);
VALUE(kSoftwareThermal, nvmlClocksEventReasonSwThermalSlowdown);
VALUE(kHardwareThermal, nvmlClocksThrottleReasonHwThermalSlowdown);
VALUE(kHardwarePowerBrake, nvmlClocksThrottleReasonHwPowerBrakeSlowdown);
VALUE(kDisplayClock, nvmlClocksEventReasonDisplayClockSetting);
VALUE(kFieldLinkRecoveries, NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS);
#undef VALUE
static_assert(kMaxLinks >= NVML_NVLINK_MAX_LINKS);  // one more answers "invalid argument"

}  // namespace
}  // namespace ridge::gpu::nvml
