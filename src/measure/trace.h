// The runs of a measurement as spans over time, in the Chrome trace event format, which Perfetto and chrome://tracing open:
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU ("Trace Event Format", JSON array).
#pragma once

#include <vector>

#include "base/json.h"
#include "measure/load.h"
#include "measure/measurement.h"

namespace ridge::measure {

// One row per caller: each run, preceded in an open loop by the time in which the request waited for it; where only some runs are
// timed, a span holds several. One row more for the profile's layers, in the order in which they ran within one run. Times are in
// µs since the first run.
Json chrome_trace(const std::vector<TimedRun>& runs, const Measurement& measured);

}  // namespace ridge::measure
