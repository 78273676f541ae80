// Stored limits of CPUs (limits_file.h): an entry per machine id (machine.h): a machine may have several quotas.
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
  std::function<bool()> interrupted = {};  // polled: ends with Code::kCancelled; may be empty
  std::function<Status()> measuring = {};  // called before limits are measured, which an error prevents; may be empty
};

// Copies the cached limits of `machine` (as probed) into it; false: none cached. `cache_file` as in LimitOptions.
bool recall(machine::Machine& machine, const std::string& cache_file = "");

// Moves those of `known`, as it was stored; false: it has none.
bool take_limits(machine::Machine&& known, machine::Machine& machine);

using Measure = std::function<Result<Limits>(const machine::Machine&)>;

// The limits of `machine` (as probed) from options.cache_file if it holds its id and options.fresh is not set, else
// from `measure`, then stored. A peak can only be measured too low: what a busy machine gave (machine/disturbance.h)
// replaces no higher figure, and one warning says that it may be too low. A damaged or unwritable file costs one
// warning and nothing else. Processes that find no limits at the same time measure in sequence.
Result<machine::Machine> recall_or_measure(machine::Machine machine, const LimitOptions& options,
                                           const Measure& measure);

// machine::probe() plus its limits, measured (5 to 15 s, on a busy machine up to 30) if not cached.
Result<machine::Machine> machine_with_limits(const LimitOptions& options);

}  // namespace ridge::limits
