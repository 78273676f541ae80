#include "hw/limits.h"
#include "hw/limits_store.h"
#include "hw/probe.h"

namespace ridge::hw {

Result<Machine> know(const LimitOptions& options) {
  RIDGE_ASSIGN(Machine machine, probe());
  return recall_or_measure(std::move(machine), options, [&](const Machine& probed) {
    MeasureOptions measuring;
    measuring.progress = options.progress;
    return measure_limits(probed, measuring);
  });
}

}  // namespace ridge::hw
