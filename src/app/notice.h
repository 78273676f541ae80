// A sentence for those who wait: said once, when waiting has lasted a while.
#pragma once

#include <functional>
#include <utility>

#include "base/clock.h"

namespace ridge::app {

// Begins when it is made. One thread.
class Notice {
 public:
  Notice(Clock& clock, Nanoseconds patience, std::function<void()> give)
      : clock_(clock), due_(clock.now() + patience), give_(std::move(give)) {}

  // Called again and again while something is awaited.
  void look() {
    if (given_ || clock_.now() < due_) return;
    given_ = true;
    give_();
  }

 private:
  Clock& clock_;
  const TimePoint due_;
  std::function<void()> give_;
  bool given_ = false;
};

}  // namespace ridge::app
