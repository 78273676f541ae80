// Reads the facts of the computer: fast, without measuring.
#pragma once

#include <string>

#include "machine/machine.h"

namespace ridge::machine {

// Facts only; peaks and bandwidths stay empty. `root` prefixes /proc and /sys (tests pass a recorded tree; hwloc is
// then not asked, the tree is read instead).
Result<Machine> probe(const std::string& root = "");

}  // namespace ridge::machine
