// The energy of a load's counted runs, from a device's counters. One thread.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/fields.h"
#include "base/units.h"
#include "machine/energy_meter.h"

namespace ridge::measure {

// Includes idle power and other work on the device: the counters do not distinguish processes.
struct Energy {
  std::string counters;             // "RAPL package-0, dram"; or why nothing was measured
  std::optional<double> power_w;    // mean
  std::optional<double> per_row_j;  // that, over rows per second
};
void visit_fields(auto& visit, Is<Energy> auto& energy) {
  visit.optional("counters", energy.counters);
  visit("power_w", energy.power_w);
  visit("joules_per_row", energy.per_row_j);
  visit.derived("origin", energy.per_row_j ? std::optional(Origin::kMeasured) : std::nullopt);
}

class EnergyOfLoad {
 public:
  // `meter` may be null, for which `reason` says why.
  EnergyOfLoad(machine::EnergyMeter* meter, std::string reason) : meter_(meter), reason_(std::move(reason)) {}
  // Call when the counted runs begin. A counter that fails becomes the reason.
  void begin(TimePoint now);
  // Call when they have ended. 300 W at 1000 rows/s are 0.3 J per row.
  Energy end(TimePoint now, double rows_per_s);

 private:
  machine::EnergyMeter* meter_;
  std::string reason_;
  std::optional<double> before_j_;
  TimePoint begin_;
};

}  // namespace ridge::measure
