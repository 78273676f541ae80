#include "limits/know.h"

#include "limits/limits.h"
#include "limits/limits_store.h"
#include "machine/probe.h"

namespace ridge::limits {

Result<machine::Machine> know(const LimitOptions& options) {
  RIDGE_ASSIGN(machine::Machine machine, machine::probe());
  return recall_or_measure(std::move(machine), options, [&](const machine::Machine& probed) {
    MeasureOptions measuring;
    measuring.progress = options.progress;
    return measure_limits(probed, measuring);
  });
}

}  // namespace ridge::limits
