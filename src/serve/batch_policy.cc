#include "serve/batch_policy.h"

#include <algorithm>

namespace ridge::serve {

bool BatchPolicy::is_preferred(int64_t rows) const {
  return std::find(limits_.preferred.begin(), limits_.preferred.end(), rows) != limits_.preferred.end();
}

void BatchPolicy::add(int64_t rows, bool fits_first, TimePoint queued) {
  if (closed_) return;
  if (requests_ > 0 && (!limits_.merge || !fits_first || rows > limits_.max_rows - rows_)) {
    closed_ = true;
    return;
  }
  ++requests_;
  rows_ += rows;
  oldest_ = std::min(oldest_, queued);
  if (is_preferred(rows_)) preferred_requests_ = requests_;
  if (!limits_.merge || rows_ >= limits_.max_rows) closed_ = true;
}

void BatchPolicy::clear() {
  requests_ = 0;
  rows_ = 0;
  preferred_requests_ = 0;
  closed_ = false;
  oldest_ = TimePoint::max();
}

BatchDecision BatchPolicy::decide(TimePoint now) const {
  using Action = BatchDecision::Action;
  if (requests_ == 0) return {};
  // `now - oldest_` would overflow for a caller that flushes with TimePoint::max(); compares the times instead.
  bool overdue = limits_.max_delay <= Nanoseconds(0) || now >= oldest_ + limits_.max_delay;
  if (closed_ || (overdue && preferred_requests_ == 0)) return {Action::kRun, requests_, {}};
  if (overdue && limits_.max_delay > Nanoseconds(0)) return {Action::kRun, requests_, {}};
  if (preferred_requests_ > 0) return {Action::kRun, preferred_requests_, {}};
  return {Action::kWait, 0, oldest_ + limits_.max_delay};
}

}  // namespace ridge::serve
