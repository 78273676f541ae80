// How the caller of a long computation follows it and ends it early.
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "machine/disturbance.h"

namespace ridge::app {

struct RunControl {
  std::function<void(const std::string& step, double share_done)> progress;  // may be empty
  std::function<void(const std::string& sentence)> note = {};  // what to know before it happens; may be empty
  std::function<bool()> interrupted;                           // polled: end early with partial results; may be empty
  Clock* clock = &system_clock();
  machine::DisturbanceWatch* watch = nullptr;  // of this process, while it measures; may be null

  void report(const std::string& step, double share_done) const {
    if (progress) progress(step, share_done);
  }
  bool stopped() const { return interrupted && interrupted(); }
};

}  // namespace ridge::app
