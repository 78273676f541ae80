// gpu/nvml/abi.h against NVIDIA's nvml.h; it compiles, or they differ.
#include "gpu/nvml/abi.h"
#include "same_abi.h"

#include <nvml.h>

namespace ridge::gpu::nvml {
namespace {

RIDGE_NVML_REQUIRED(SAME_FUNCTION)
RIDGE_NVML_OPTIONAL(SAME_FUNCTION)

static_assert(abi::same_type<PciInfo, nvmlPciInfo_t>() && abi::same_type<MemoryInfo, nvmlMemory_t>() &&
              abi::same_type<Utilization, nvmlUtilization_t>() && abi::same_type<ProcessInfo, nvmlProcessInfo_t>() &&
              abi::same_type<FieldValue, nvmlFieldValue_t>() &&
              abi::same_type<DeviceAttributes, nvmlDeviceAttributes_t>());
static_assert(offsetof(PciInfo, bus_id_legacy) == offsetof(nvmlPciInfo_t, busIdLegacy) &&
              offsetof(PciInfo, bus_id) == offsetof(nvmlPciInfo_t, busId) &&
              sizeof(PciInfo::bus_id) == sizeof(nvmlPciInfo_t::busId));
SAME_MEMBER(PciInfo, nvmlPciInfo_t, domain, domain);
SAME_MEMBER(PciInfo, nvmlPciInfo_t, bus, bus);
SAME_MEMBER(PciInfo, nvmlPciInfo_t, device, device);
SAME_MEMBER(PciInfo, nvmlPciInfo_t, device_and_vendor, pciDeviceId);
SAME_MEMBER(PciInfo, nvmlPciInfo_t, subsystem, pciSubSystemId);
SAME_MEMBER(MemoryInfo, nvmlMemory_t, total, total);
SAME_MEMBER(MemoryInfo, nvmlMemory_t, free, free);
SAME_MEMBER(MemoryInfo, nvmlMemory_t, used, used);
SAME_MEMBER(Utilization, nvmlUtilization_t, gpu, gpu);
SAME_MEMBER(Utilization, nvmlUtilization_t, memory, memory);
SAME_MEMBER(ProcessInfo, nvmlProcessInfo_t, pid, pid);
SAME_MEMBER(ProcessInfo, nvmlProcessInfo_t, memory_bytes, usedGpuMemory);
SAME_MEMBER(ProcessInfo, nvmlProcessInfo_t, gpu_instance, gpuInstanceId);
SAME_MEMBER(ProcessInfo, nvmlProcessInfo_t, compute_instance, computeInstanceId);
SAME_MEMBER(FieldValue, nvmlFieldValue_t, field, fieldId);
SAME_MEMBER(FieldValue, nvmlFieldValue_t, scope, scopeId);
SAME_MEMBER(FieldValue, nvmlFieldValue_t, timestamp, timestamp);
SAME_MEMBER(FieldValue, nvmlFieldValue_t, duration, latencyUsec);
SAME_MEMBER(FieldValue, nvmlFieldValue_t, type, valueType);
SAME_MEMBER(FieldValue, nvmlFieldValue_t, result, nvmlReturn);
static_assert(offsetof(FieldValue, value) == offsetof(nvmlFieldValue_t, value) &&
              sizeof(FieldValue::value) == sizeof(nvmlValue_t));
SAME_MEMBER(DeviceAttributes, nvmlDeviceAttributes_t, multiprocessors, multiprocessorCount);
SAME_MEMBER(DeviceAttributes, nvmlDeviceAttributes_t, copy_engines, sharedCopyEngineCount);
SAME_MEMBER(DeviceAttributes, nvmlDeviceAttributes_t, decoders, sharedDecoderCount);
SAME_MEMBER(DeviceAttributes, nvmlDeviceAttributes_t, encoders, sharedEncoderCount);
SAME_MEMBER(DeviceAttributes, nvmlDeviceAttributes_t, jpeg_engines, sharedJpegCount);
SAME_MEMBER(DeviceAttributes, nvmlDeviceAttributes_t, optical_flow_engines, sharedOfaCount);
SAME_MEMBER(DeviceAttributes, nvmlDeviceAttributes_t, gpu_slices, gpuInstanceSliceCount);
SAME_MEMBER(DeviceAttributes, nvmlDeviceAttributes_t, compute_slices, computeInstanceSliceCount);
SAME_MEMBER(DeviceAttributes, nvmlDeviceAttributes_t, memory_mib, memorySizeMB);

SAME_VALUE(kSuccess, NVML_SUCCESS);
SAME_VALUE(kUninitialized, NVML_ERROR_UNINITIALIZED);
SAME_VALUE(kInvalidArgument, NVML_ERROR_INVALID_ARGUMENT);
SAME_VALUE(kNotSupported, NVML_ERROR_NOT_SUPPORTED);
SAME_VALUE(kNoPermission, NVML_ERROR_NO_PERMISSION);
SAME_VALUE(kNotFound, NVML_ERROR_NOT_FOUND);
SAME_VALUE(kInsufficientSize, NVML_ERROR_INSUFFICIENT_SIZE);
SAME_VALUE(kDriverNotLoaded, NVML_ERROR_DRIVER_NOT_LOADED);
SAME_VALUE(kTimeout, NVML_ERROR_TIMEOUT);
SAME_VALUE(kFunctionNotFound, NVML_ERROR_FUNCTION_NOT_FOUND);
SAME_VALUE(kGpuIsLost, NVML_ERROR_GPU_IS_LOST);
SAME_VALUE(kResetRequired, NVML_ERROR_RESET_REQUIRED);
SAME_VALUE(kVersionMismatch, NVML_ERROR_LIB_RM_VERSION_MISMATCH);
SAME_VALUE(kUnknown, NVML_ERROR_UNKNOWN);
SAME_VALUE(kNoMemoryFigure, NVML_VALUE_NOT_AVAILABLE);
SAME_VALUE(kUnsigned, NVML_VALUE_TYPE_UNSIGNED_INT);
SAME_VALUE(kUnsignedLong, NVML_VALUE_TYPE_UNSIGNED_LONG);
SAME_VALUE(kUnsignedLongLong, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG);
SAME_VALUE(kLinkReplay, NVML_NVLINK_ERROR_DL_REPLAY);
SAME_VALUE(kLinkRecovery, NVML_NVLINK_ERROR_DL_RECOVERY);
SAME_VALUE(kLinkCrcFlit, NVML_NVLINK_ERROR_DL_CRC_FLIT);
SAME_VALUE(kGraphicsClock, NVML_CLOCK_GRAPHICS);
SAME_VALUE(kSmClock, NVML_CLOCK_SM);
SAME_VALUE(kMemoryClock, NVML_CLOCK_MEM);
SAME_VALUE(kCorrected, NVML_MEMORY_ERROR_TYPE_CORRECTED);
SAME_VALUE(kUncorrected, NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
SAME_VALUE(kSinceStart, NVML_VOLATILE_ECC);
SAME_VALUE(kEver, NVML_AGGREGATE_ECC);
SAME_VALUE(kShutdown, NVML_TEMPERATURE_THRESHOLD_SHUTDOWN);
SAME_VALUE(kSlowdown, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN);
SAME_VALUE(kSameBoard, NVML_TOPOLOGY_INTERNAL);
SAME_VALUE(kOneSwitch, NVML_TOPOLOGY_SINGLE);
SAME_VALUE(kSeveralSwitches, NVML_TOPOLOGY_MULTIPLE);
SAME_VALUE(kHostBridge, NVML_TOPOLOGY_HOSTBRIDGE);
SAME_VALUE(kSameNode, NVML_TOPOLOGY_NODE);
SAME_VALUE(kSystem, NVML_TOPOLOGY_SYSTEM);
SAME_VALUE(kGpuIdle, nvmlClocksEventReasonGpuIdle);
SAME_VALUE(kApplicationClocks, nvmlClocksEventReasonApplicationsClocksSetting);
SAME_VALUE(kSoftwarePowerCap, nvmlClocksEventReasonSwPowerCap);
SAME_VALUE(kHardwareSlowdown, nvmlClocksThrottleReasonHwSlowdown);
SAME_VALUE(kSyncBoost, nvmlClocksEventReasonSyncBoost);
SAME_VALUE(kSoftwareThermal, nvmlClocksEventReasonSwThermalSlowdown);
SAME_VALUE(kHardwareThermal, nvmlClocksThrottleReasonHwThermalSlowdown);
SAME_VALUE(kHardwarePowerBrake, nvmlClocksThrottleReasonHwPowerBrakeSlowdown);
SAME_VALUE(kDisplayClock, nvmlClocksEventReasonDisplayClockSetting);
SAME_VALUE(kFieldPowerInstant, NVML_FI_DEV_POWER_INSTANT);
SAME_VALUE(kFieldLinkRecoveries, NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS);
static_assert(kMaxLinks >= NVML_NVLINK_MAX_LINKS);  // one more answers "invalid argument"

}  // namespace
}  // namespace ridge::gpu::nvml
