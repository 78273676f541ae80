// The limits of CPUs that are kept between runs (limits_file.h): an entry per machine id, as machine.h has it, so that one
// machine under several quotas works.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "limits/limits.h"
#include "limits/limits_file.h"
#include "machine/machine.h"

namespace ridge::limits {

struct LimitOptions {
  bool fresh = false;      // measure even if this machine's limits are in the cache
  std::string cache_file;  // empty: $XDG_CACHE_HOME/ridge/machine.json or ~/.cache/ridge/machine.json
  std::function<void(const std::string& step, double share_done)> progress;  // may be empty
};

// Puts the limits that the cache holds of `machine` (as probed) into it; false: it holds none. `cache_file` as in LimitOptions.
bool recall(machine::Machine& machine, const std::string& cache_file = "");

using Measure = std::function<Result<Limits>(const machine::Machine&)>;

// The limits of `machine` (as probed) from options.cache_file if it holds its id and options.fresh is not set, else by
// `measure`, then stored. A file that is damaged, or cannot be written, costs one warning and nothing else. Processes
// that find no limits at the same time measure one after the other, not against each other.
Result<machine::Machine> recall_or_measure(machine::Machine machine, const LimitOptions& options,
                                           const Measure& measure);

// machine::probe() plus its limits, measured (about 10 s) where the cache has none.
Result<machine::Machine> machine_with_limits(const LimitOptions& options);

}  // namespace ridge::limits
