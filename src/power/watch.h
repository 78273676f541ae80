// Waiting while something is held: for a signal, or for a command to end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace ridge::power {

// From now on SIGINT, SIGTERM and SIGHUP wait for watch(), except those that this process ignores (nohup). Call it before
// anything is set.
void hold_signals();

// Without a command: until a signal requests the end; returns 0. With one: runs it (searched on PATH) and waits for its end;
// returns its exit status, or 128 + the number of the signal that ended it. A signal sent to this process alone is forwarded to
// the command; one from the terminal has already reached it. Calls `now_and_then` about once a second.
Result<int> watch(const std::vector<std::string>& command, const std::function<void()>& now_and_then);

}  // namespace ridge::power
