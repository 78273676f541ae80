// DeviceEstimate: the time of a run on a catalogue device that has not been run: its limits, times the shares that
// publicly measured devices have reached (carried_over.h). A range, for choosing what to measure. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/figure.h"
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
void visit_fields(auto& visit, Is<DeviceEstimate> auto& estimate) {
  visit("estimate_ms", estimate.ms.likely, means("of one run on a device of the catalogue, likely"));
  visit("estimate_per_s", estimate.throughput_per_s, means("rows"));
  visit("estimate_error_percent", estimate.error_percent, means("to the farther end of the range"));
  visit.object("estimate", [&](auto& how) {
    how.derived("basis", "carried over");
    how.object("range_ms", [&](auto& range) {
      range("slow", estimate.ms.slow);
      range("fast", estimate.ms.fast);
    });
    how.object("held_percent", [&](auto& held) {
      held.derived("compute", 100 * estimate.held.compute);
      held.derived("memory", 100 * estimate.held.memory);
      held.derived("start", 100 * estimate.held.start);
    });
    how("notes", estimate.evidence);
  });
}

// `costs` are counted at `precision`, for a run of `rows`. Error (kInvalid): the device has no source for its bandwidth
// or for a rate at that precision.
Result<DeviceEstimate> estimate_on(const catalogue::CatalogueDevice& device, const cost::Costs& costs,
                                   Precision precision, int64_t rows);
// The same for a GPU in this machine with these limits, some possibly measured; FP32 accumulators.
Result<DeviceEstimate> estimate_on(const catalogue::CatalogueDevice& device, const cost::DeviceLimits& limits,
                                   const cost::Costs& costs, Precision precision, int64_t rows);

}  // namespace ridge::predict
