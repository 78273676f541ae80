// What the computer is and what it can do: probed, and its limits recalled or measured.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "machine/machine.h"

namespace ridge::limits {

struct LimitOptions {
  bool fresh = false;      // measure even if this machine's limits are in the cache
  std::string cache_file;  // empty: $XDG_CACHE_HOME/ridge/machine.json or ~/.cache/ridge/machine.json
  std::function<void(const std::string& step, double share_done)> progress;  // may be empty
};

// machine::probe() plus limits, from the cache when its entry has this machine's id, measured (about 10 s) and stored otherwise.
// A cache that cannot be written costs one warning, nothing else.
Result<machine::Machine> know(const LimitOptions& options);

}  // namespace ridge::limits
