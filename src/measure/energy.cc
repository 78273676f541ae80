#include "measure/energy.h"

#include <fmt/format.h>

namespace ridge::measure {

void EnergyOfLoad::begin(TimePoint now) {
  begin_ = now;
  if (meter_ == nullptr) return;
  const Result<double> joules = meter_->joules();
  if (joules)
    before_j_ = *joules;
  else
    reason_ = joules.error().message;
}

Energy EnergyOfLoad::end(TimePoint now, double rows_per_s) {
  if (meter_ == nullptr || !before_j_)
    return {"not measured: " + (reason_.empty() ? "no run counted" : reason_), {}, {}};
  const double seconds = to_seconds(now - begin_);
  const double least = machine::kLeastEnergySteps * meter_->step_seconds();
  if (seconds < least)
    return {
        fmt::format("not measured: the counted runs took {:.2g} s, but the counters need at least {:.2g} s, as they "
                    "update every {:.2g} s; a smaller --ci measures longer",
                    seconds, least, meter_->step_seconds()),
        {},
        {}};
  const Result<double> joules = meter_->joules();
  if (!joules) return {"not measured: " + joules.error().message, {}, {}};
  const double power_w = (*joules - *before_j_) / seconds;
  if (power_w <= 0) return {"not measured: " + meter_->source() + " did not move", {}, {}};
  return {meter_->source(), power_w, rows_per_s > 0 ? std::optional(power_w / rows_per_s) : std::nullopt};
}

}  // namespace ridge::measure
