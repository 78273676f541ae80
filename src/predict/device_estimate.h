// DeviceEstimate: the time of a run on a catalogue device that has not been run: its limits, times the shares that publicly
// measured devices have reached (carried_over.h). A range, wider than a calibrated estimate's error; for choosing what to
// measure, not for promising a latency. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "catalogue/catalogue.h"
#include "cost/costs.h"
#include "predict/carried_over.h"

namespace ridge::predict {

struct DeviceEstimate {
  Range ms = {};                // of one run
  double throughput_per_s = 0;  // rows, at the likely time
  double error_percent = 0;     // to the farther end of the range
  BottleneckShares held = {};   // breakdown of the likely time
  std::vector<std::string> evidence = {};
};

// `costs` are counted at `precision`, for a run of `rows`. Error (kInvalid): the device has no source for its bandwidth or for
// a rate at that precision.
Result<DeviceEstimate> estimate_on(const catalogue::CatalogueDevice& device, const cost::Costs& costs,
                                   Precision precision, int64_t rows);
// The same for a GPU in this machine with these limits, some possibly measured; FP32 accumulators.
Result<DeviceEstimate> estimate_on(const catalogue::CatalogueDevice& device, const cost::DeviceLimits& limits,
                                   const cost::Costs& costs, Precision precision, int64_t rows);

// {"estimate_ms", "estimate_per_s", "estimate_error_percent", "estimate": {basis, range_ms, held_percent, notes, kernels: []}}
Json to_json(const DeviceEstimate& estimate);

}  // namespace ridge::predict
