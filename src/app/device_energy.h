// The energy counters of the device that a model runs on.
#pragma once

#include "base/result.h"
#include "limits/nvidia_gpu.h"
#include "machine/energy_meter.h"
#include "plan/device.h"

namespace ridge::app {

// kUnsupported: a device whose counters ridge does not read.
inline Result<machine::EnergyMeter> energy_meter_of(const plan::Device& device) {
  if (device.kind == plan::DeviceKind::kCpu) return machine::EnergyMeter::open();
  if (plan::is_nvidia(device)) return limits::open_nvidia_energy(device.index);
  return Error{Code::kUnsupported, "ridge reads no energy counter of " + plan::device_name(device)};
}

}  // namespace ridge::app
