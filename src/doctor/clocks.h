// The system's clocks: whether network time sets them, the cost of reading them, and whether they step back.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/fields.h"
#include "base/result.h"

namespace ridge::doctor {

struct ClockFacts {
  bool synchronised = false;  // adjtimex(2): the kernel's clock is being disciplined
  bool synchronisation_known = false;
  int64_t largest_error_us = 0;  // adjtimex maxerror: the kernel's own error estimate
  int64_t reads = 0;             // of the monotonic clock during the test
  double ns_per_read = 0;        // median of blocks of 1000
  int64_t steps_back = 0;        // reads earlier than the previous one
  double largest_gap_ms = 0;     // between two reads: the process did not run for this long
  double realtime_step_ms = 0;   // how far the clock of the day moved against the monotonic one during the test
};
void visit_fields(auto& visit, Is<ClockFacts> auto& facts) {
  visit.optional("synchronised", facts.synchronised);
  visit.optional("synchronisation_known", facts.synchronisation_known);
  visit.optional("largest_error_us", facts.largest_error_us);
  visit.optional("reads", facts.reads);
  visit.optional("ns_per_read", facts.ns_per_read);
  visit.optional("steps_back", facts.steps_back);
  visit.optional("largest_gap_ms", facts.largest_gap_ms);
  visit.optional("realtime_step_ms", facts.realtime_step_ms);
}

// Takes `duration` on one CPU.
ClockFacts measure_clocks(Nanoseconds duration);

}  // namespace ridge::doctor
