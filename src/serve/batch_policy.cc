#include "serve/batch_policy.h"

#include <algorithm>

namespace ridge::serve {

bool BatchPolicy::is_preferred(int64_t rows) const {
  return std::find(limits_.preferred.begin(), limits_.preferred.end(), rows) != limits_.preferred.end();
}

void BatchPolicy::add(int64_t rows, bool fits_first, TimePoint queued, TimePoint answer_by) {
  if (closed_) return;
  if (requests_ > 0 && (!limits_.merge || !fits_first || rows > limits_.max_rows - rows_)) {
    closed_ = true;
    return;
  }
  ++requests_;
  rows_ += rows;
  oldest_ = std::min(oldest_, queued);
  answer_by_ = std::min(answer_by_, answer_by);
  if (is_preferred(rows_)) preferred_requests_ = requests_;
  if (!limits_.merge || rows_ >= limits_.max_rows) closed_ = true;
}

void BatchPolicy::clear() {
  requests_ = 0;
  rows_ = 0;
  preferred_requests_ = 0;
  closed_ = false;
  oldest_ = TimePoint::max();
  answer_by_ = TimePoint::max();
}

// Not without requests.
TimePoint BatchPolicy::start_by(const BatchPace& pace) const {
  TimePoint due = limits_.adaptive ? pace.delay_pays_until : TimePoint::max();
  if (!limits_.adaptive || limits_.max_delay > Nanoseconds(0)) due = std::min(due, oldest_ + limits_.max_delay);
  if (answer_by_ != TimePoint::max()) due = std::min(due, answer_by_ - pace.run);
  return due;
}

BatchDecision BatchPolicy::decide(TimePoint now, const BatchPace& pace) const {
  using Action = BatchDecision::Action;
  if (requests_ == 0) return {};
  const bool delays = limits_.adaptive || limits_.max_delay > Nanoseconds(0);
  const TimePoint due = start_by(pace);
  const bool overdue = !delays || now >= due;
  if (closed_ || (overdue && (delays || preferred_requests_ == 0))) return {Action::kRun, requests_, {}};
  if (preferred_requests_ > 0) return {Action::kRun, preferred_requests_, {}};
  return {Action::kWait, 0, due};
}

}  // namespace ridge::serve
