// An NVIDIA GPU in this machine: its datasheet, its measured figures, and its energy counter.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "catalogue/catalogue.h"
#include "limits/accelerator/device_measurement.h"
#include "machine/energy_meter.h"

namespace ridge::limits {

struct NvidiaGpu {
  int index = 0;  // in CUDA's numbering
  gpu::DeviceFacts facts;
  std::optional<catalogue::CatalogueDevice> datasheet;
  std::string datasheet_reason;  // why the catalogue has none
  std::optional<accelerator::DeviceMeasurement> measured;
  std::string measured_reason;  // why no measured figures hold now
};

// GPU `index` in CUDA's numbering (CUDA_VISIBLE_DEVICES applies); without CUDA, in NVML's. Nothing is measured: figures
// stored by `ridge bench device` in `cache_file` are recalled (accelerator/store.h); empty: the default file. Errors:
// no driver, or no such GPU (the message lists those present).
Result<NvidiaGpu> nvidia_gpu(int index, const std::string& cache_file = "");

// NVML's counter of all energy that GPU `index` has consumed since the driver was loaded, including idle time and other
// processes. kUnsupported: a GPU without a counter (before Volta).
Result<machine::EnergyMeter> open_nvidia_energy(int index);

}  // namespace ridge::limits
