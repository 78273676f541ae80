#include "measure/stop_rule.h"

#include <algorithm>
#include <limits>

#include "measure/statistics.h"

namespace ridge::measure {

Verdict StopRule::verdict(Nanoseconds elapsed) {
  bool may_look = samples_.size() >= next_look_ && elapsed >= options_.min_time &&
                  samples_.size() >= static_cast<size_t>(options_.min_samples);
  if (may_look) {
    converged_ = half_width_percent() <= options_.half_width_percent;
    next_look_ = samples_.size() + std::max<size_t>(samples_.size() / 10, 1);
  }
  if (converged_) return Verdict::kConverged;
  return elapsed >= options_.max_time ? Verdict::kTimeOut : Verdict::kContinue;
}

double StopRule::half_width_percent() const {
  double centre = mean(samples_);
  if (centre <= 0) return std::numeric_limits<double>::infinity();
  return 100 * half_width_in_time(samples_, options_.confidence) / centre;
}

}  // namespace ridge::measure
