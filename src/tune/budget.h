// Budget: the time of a whole tuning run, divided among its parts in their order. A part that ends early leaves its
// time to the later ones. One thread.
#pragma once

#include "base/clock.h"

namespace ridge::tune {

enum class Part {
  kVariants,  // the untuned model, and other engines and precisions: made and judged
  kSearch,
  kConfirm,  // of the winner, and the proof at its load
  kCurve,    // over the batch
  kEnd,      // a trial that runs over, the outputs' deviation, the repository
};

// The share of the whole time that is over when the part should end; pure.
double share_until(Part part);

class Budget {
 public:
  // Begins now. `clock` outlives it.
  Budget(double seconds, const Clock& clock) : seconds_(seconds), clock_(clock), begin_(clock.now()) {}
  double seconds() const { return seconds_; }
  TimePoint end_of(Part part) const { return begin_ + from_seconds(share_until(part) * seconds_); }
  double left(Part part) const;  // [s]
  bool over(Part part) const { return clock_.now() >= end_of(part); }

 private:
  double seconds_;
  const Clock& clock_;
  TimePoint begin_;
};

}  // namespace ridge::tune
