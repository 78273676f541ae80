// The energy counters of the device that a model runs on.
#pragma once

#include "base/result.h"
#include "hw/energy_meter.h"
#include "plan/device.h"

namespace ridge::cli {

// kUnsupported: a device whose counters ridge does not read.
inline Result<hw::EnergyMeter> energy_meter_of(const plan::Device& device) {
  if (device.kind == plan::DeviceKind::kCpu) return hw::EnergyMeter::open();
  if (plan::is_nvidia(device)) return hw::EnergyMeter::open_nvidia_card(device.index);
  return Error{Code::kUnsupported, "ridge reads no energy counter of " + plan::device_name(device)};
}

}  // namespace ridge::cli
