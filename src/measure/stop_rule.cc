#include "measure/stop_rule.h"

#include <algorithm>

namespace ridge::measure {

Verdict StopRule::verdict(int64_t samples, Nanoseconds elapsed, const std::function<double()>& half_width_percent) {
  if (options_.half_width_percent > 0 && samples >= next_look_ && samples >= options_.min_samples &&
      elapsed >= options_.min_time) {
    converged_ = half_width_percent() <= options_.half_width_percent;
    next_look_ = samples + std::max<int64_t>(samples / 10, 1);
  }
  if (converged_) return Verdict::kConverged;
  const bool late = elapsed >= options_.max_time && samples >= options_.sure_samples;
  return late || samples >= options_.max_samples ? Verdict::kSpent : Verdict::kContinue;
}

}  // namespace ridge::measure
