// What measuring a metric gives, on a CPU or on a device, with what stands beside it. Plain values; docs/contracts.md has their JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace ridge::limits {

// How much of what could be reached at most was reached.
struct Utilisation {
  std::string of;    // "datasheet of NVIDIA H100 PCIe", "best here: cuBLASLt"
  double value = 0;  // in the metric's unit
  Origin origin = Origin::kDatasheet;
  double percent = 0;  // 100 · best / value
};

// What the management library saw while the bursts ran. Absent: not told, or no sample fell into them.
struct GpuConditions {
  std::optional<double> clock_hz, memory_clock_hz, power_w, temperature_c;  // means, of the temperature the highest
  std::vector<std::string> slowdowns;                                       // why the GPU was slower than it can be
  bool clocks_set = false;  // the clocks were fixed by hand, and that showed
  int samples = 0;
};

// A rate [units/s]. Best: of one burst (of memory that others share: see limits/rates.h); typical: the median burst.
struct MetricResult {
  std::optional<double> best, typical;
  double spread_percent = 0;
  int bursts = 0;
  double burst_seconds = 0;  // median length
  double clock_hz = 0;       // counted on the device during the best bursts; 0 = could not be observed
  std::string conditions;    // the variant that won: "256 threads, 1056 blocks"
  std::string reason;        // why there is no rate
  std::vector<Utilisation> utilisation;
  GpuConditions gpu;
};

}  // namespace ridge::limits
