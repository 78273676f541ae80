// The energy counter of an NVIDIA GPU: NVML's count of all that it has consumed since the driver was loaded (Volta and later),
// idling and other processes included.
#pragma once

#include "base/result.h"
#include "machine/energy_meter.h"

namespace ridge::limits {

// Of GPU `index` as CUDA counts them. kUnsupported: a GPU without a counter.
Result<machine::EnergyMeter> open_nvidia_energy(int index);

}  // namespace ridge::limits
