#include "measure/warm_up.h"

#include <algorithm>
#include <span>

#include "measure/statistics.h"

namespace ridge::measure {

bool WarmUp::steady(Nanoseconds elapsed) const {
  if (elapsed >= options_.max_time && !latencies_.empty()) return true;
  if (elapsed < options_.min_time || latencies_.size() < options_.min_runs) return false;
  // Short runs come in thousands: then compares the last two quarters, not single runs.
  size_t window = std::max(options_.window, latencies_.size() / 4);
  if (latencies_.size() < 2 * window) return false;
  std::span<const double> all = latencies_;
  double newer = median(all.last(window));
  double older = median(all.last(2 * window).first(window));
  return newer >= older * (1 - options_.tolerance);
}

}  // namespace ridge::measure
