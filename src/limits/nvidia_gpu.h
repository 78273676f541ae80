// An NVIDIA GPU in this machine: what its datasheet says of it, and what was measured on it.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "catalogue/catalogue.h"
#include "limits/accelerator/device_measurement.h"

namespace ridge::limits {

struct NvidiaGpu {
  int index = 0;  // as CUDA counts
  gpu::DeviceFacts facts;
  std::optional<catalogue::CatalogueDevice> datasheet;
  std::string datasheet_reason;  // why the catalogue has none
  std::optional<limits::accelerator::DeviceMeasurement> measured;
  std::string measured_reason;  // why nothing that was measured holds now
};

// GPU `index` as CUDA counts them (CUDA_VISIBLE_DEVICES counts); where there is no CUDA, as NVML does. Nothing is measured: what
// `ridge bench device` has kept in `cache_file` is recalled (accelerator/store.h); empty: the default file. Errors: no driver, or
// no such GPU (the message lists those that are there).
Result<NvidiaGpu> nvidia_gpu(int index, const std::string& cache_file = "");

// What that GPU is, without a look at the catalogue and at what was kept.
Result<gpu::DeviceFacts> nvidia_gpu_facts(int index);

}  // namespace ridge::limits
