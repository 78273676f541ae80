// Where measured limits are kept between runs: one JSON file with an entry per machine id, so that a home folder shared
// by several machines (or one machine under several quotas) works.
//   {"version": 1, "machines": {"<id>": <machine as in machine.h>}}
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "hw/limits.h"
#include "hw/machine.h"
#include "hw/probe.h"

namespace ridge::hw {

// $XDG_CACHE_HOME/ridge/machine.json, ~/.cache/ridge/machine.json, or "" where neither is set.
std::string default_cache_file();

using Measure = std::function<Result<Limits>(const Machine&)>;

// The limits of `machine` (as probed) from options.cache_file if it holds its id and options.fresh is not set, else by
// `measure`, then stored. A file that is damaged, or cannot be written, costs one warning and nothing else. Processes
// that find no limits at the same time measure one after the other, not against each other.
Result<Machine> recall_or_measure(Machine machine, const LimitOptions& options, const Measure& measure);

}  // namespace ridge::hw
