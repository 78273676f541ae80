// The limits of processors that are kept between runs (limits_file.h): an entry per machine id, as machine.h has it, so that one
// machine under several quotas works.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "hw/limits.h"
#include "hw/limits_file.h"
#include "hw/machine.h"
#include "hw/probe.h"

namespace ridge::hw {

using Measure = std::function<Result<Limits>(const Machine&)>;

// The limits of `machine` (as probed) from options.cache_file if it holds its id and options.fresh is not set, else by
// `measure`, then stored. A file that is damaged, or cannot be written, costs one warning and nothing else. Processes
// that find no limits at the same time measure one after the other, not against each other.
Result<Machine> recall_or_measure(Machine machine, const LimitOptions& options, const Measure& measure);

}  // namespace ridge::hw
