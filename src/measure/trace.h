// The runs of a measurement as spans over time, in the Chrome trace event format, which Perfetto and chrome://tracing
// open: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU ("Trace Event Format", JSON
// array).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "measure/layers.h"
#include "measure/load.h"

namespace ridge::measure {

struct TracedLoad {
  std::string name;  // "identity, 4 callers"
  int callers = 1;
  std::vector<TimedRun> runs;
  std::vector<Layer> layers = {};              // of the profile; may be empty
  std::string (*failure_name)(int) = nullptr;  // of an AsyncTarget's requests
};

// One process per load, with one row per caller: each run, preceded in an open loop by the time in which the request
// waited for it; where only some runs are timed, a span holds several. A failure has its name. One row more for the
// profile's layers, in the order in which they ran within one run. Times are in µs since the first run of all.
Json chrome_trace(std::span<const TracedLoad> loads);

}  // namespace ridge::measure
