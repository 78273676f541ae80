// Reads what the computer is (fast, no measurement), and measures or recalls what it can do.
#pragma once

#include <functional>
#include <string>

#include "hw/machine.h"

namespace ridge::hw {

// Facts only; peaks and bandwidths stay empty. `root` prefixes /proc and /sys (tests pass a recorded tree; hwloc is then
// not asked, the tree is read instead).
Result<Machine> probe(const std::string& root = "");

struct LimitOptions {
  bool fresh = false;      // measure even if this machine's limits are in the cache
  std::string cache_file;  // empty: $XDG_CACHE_HOME/ridge/machine.json or ~/.cache/ridge/machine.json
  std::function<void(const std::string& step, double share_done)> progress;  // may be empty
};

// probe() plus limits, from the cache when its entry has this machine's id, measured (about 10 s) and stored otherwise.
// A cache that cannot be written costs one warning, nothing else.
Result<Machine> know(const LimitOptions& options);

}  // namespace ridge::hw
