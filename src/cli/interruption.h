// Ctrl-C of the verbs that measure: the first one requests an early end with partial results, a later one ends the
// program. The flag belongs to the process, as signals do.
#pragma once

#include "base/clock.h"

namespace ridge::cli {

// Makes SIGINT and SIGTERM set interrupted() instead of ending the process. A signal within 0.3 s of the first counts
// as the same one: a terminal, a shell and `timeout` may each forward it. The handler reads `clock`, which outlives it.
void listen_for_interruption(const Clock& clock = system_clock());
bool interrupted();

}  // namespace ridge::cli
