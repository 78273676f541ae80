// The result of a metric, on a CPU or a device, with its conditions. Plain values; docs/contracts.md has their JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/figure.h"
#include "base/units.h"

namespace ridge::limits {

// The fraction of an upper limit that was reached.
struct Utilisation {
  std::string of;    // "datasheet of NVIDIA H100 PCIe", "best here: cuBLASLt"
  double value = 0;  // in the metric's unit
  Origin origin = Origin::kDatasheet;
  double percent = 0;  // 100 · best / value
};
void visit_fields(auto& visit, Is<Utilisation> auto& share) {
  visit("of", share.of);
  visit("value", share.value);
  visit("origin", share.origin);
  visit("percent", share.percent);
}

// Reported by the management library while the bursts ran. Absent: not reported, or no sample fell into them.
struct GpuConditions {
  std::optional<double> clock_hz, memory_clock_hz, power_w, temperature_c;  // means; the highest for the temperature
  std::vector<std::string> slowdowns;                                       // why the GPU was slowed down
  bool clocks_set = false;  // the clocks were locked by hand, and that showed
  int samples = 0;

  bool empty() const { return samples == 0; }
};
void visit_fields(auto& visit, Is<GpuConditions> auto& conditions) {
  visit("clock_hz", conditions.clock_hz, Figure().column("clock").in("Hz").leaves(4));
  visit("memory_clock_hz", conditions.memory_clock_hz);
  visit("power_w", conditions.power_w, Figure().column("power").in("W").leaves(3));
  visit("temperature_c", conditions.temperature_c, Figure().column("temperature").in("°C").leaves(2));
  visit("slowdowns", conditions.slowdowns, Figure().column("slowed by").remark());
  visit("clocks_set", conditions.clocks_set);
  visit("samples", conditions.samples);
}

// A rate [units/s]. Best: of one burst (for shared memory: see limits/rates.h); typical: the median burst.
struct MetricResult {
  std::optional<double> best, typical;
  double spread_percent = 0;
  int bursts = 0;
  double burst_seconds = 0;  // median length
  double clock_hz = 0;       // counted on the device during the best bursts; 0 = not observable
  std::string conditions;    // the winning variant: "256 threads, 1056 blocks"
  std::string reason;        // why the rate is missing
  std::vector<Utilisation> utilisation;
  GpuConditions gpu;
};
// `name`: of the rate, "flops_per_s".
void visit_result(auto& visit, Is<MetricResult> auto& result, const std::string& name, const char* unit) {
  visit(name.c_str(), result.best,
        means("the best burst; null, with `reason`, if it could not be measured")
            .column("best")
            .in(unit)
            .high_is_better());
  visit(("typical_" + name).c_str(), result.typical, means("the median burst").column("typical").in(unit).leaves(7));
  visit.derived("origin", Origin::kMeasured);
  visit.when(result.best.has_value(), [&](auto& then) {
    then("spread_percent", result.spread_percent, Figure().column("spread").leaves(6));
    then("bursts", result.bursts, Figure().column("bursts").leaves(1));
    then("burst_seconds", result.burst_seconds, means("median length").in("s"));
    then("kernel", result.conditions, means("the winning variant").column("how").remark());
    then("shares", result.utilisation, means("of upper limits"));
    then.unless_empty(
        "observed", result.gpu,
        means("by a management library; `clocks_set`: the clocks were seen to be locked").groups_columns());
  });
  visit.when(!result.best,
             [&](auto& then) { then("reason", result.reason, Figure().column("not measured").remark()); });
}

}  // namespace ridge::limits
