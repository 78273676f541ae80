#include "measure/rate_search.h"

#include <cmath>

namespace ridge::measure {

std::optional<double> RateSearch::next() const {
  if (confirmed_ || visits_ >= options_.most_visits) return std::nullopt;
  if (narrow()) return met_;
  if (met_ && failed_) return std::sqrt(*met_ * *failed_);
  if (met_) return 2 * *met_;
  const double rate = failed_ ? *failed_ * retreat_ : options_.first_per_s;
  if (rate < options_.least_per_s) return std::nullopt;
  return rate;
}

void RateSearch::report(bool met) {
  const std::optional<double> rate = next();
  if (!rate) return;
  ++visits_;
  if (narrow()) {  // the visit that confirms
    confirmed_ = met;
    if (met) return;
    failed_ = met_;
    met_ = lower_;
    lower_.reset();
    retreat_ = 1 - 2 * options_.resolution;  // it met the goal once: the answer is near
    return;
  }
  if (met) lower_ = met_;
  (met ? met_ : failed_) = rate;
}

}  // namespace ridge::measure
