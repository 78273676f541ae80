// A session whose runs have a limit of time: one that takes longer is broken off by the engine and fails.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/engine.h"

namespace ridge::engine {

// Ends the process with status 3, as a thread inside an engine cannot be ended alone.
void give_up(const std::string& why);

// Real time, whatever clock a test has. A limit is reached when no run of the session has ended for so long while one
// is under way. `stuck` is called if runs go on for 10 s more: the engine could not break them off.
std::unique_ptr<Session> with_run_limit(std::unique_ptr<Session> session, Nanoseconds limit,
                                        std::function<void(const std::string& why)> stuck = give_up);

// open(), of what may take `seconds` in all: a run may take these and 10 s more. 0: as long as it likes.
Result<std::unique_ptr<Session>> open_for(double seconds, const plan::Plan& plan, Clock& clock = system_clock());

}  // namespace ridge::engine
