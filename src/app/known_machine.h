// This machine with its limits, for a verb that is followed.
#pragma once

#include <functional>

#include "app/run_control.h"
#include "base/result.h"
#include "machine/machine.h"

namespace ridge::app {

// The limits are measured if they are not known, or `fresh`. Before, `can_run` says whether what they are measured for
// works at all (its error is the result; may be empty), and control.note that it takes a while.
Result<machine::Machine> know_machine(bool fresh, const RunControl& control,
                                      const std::function<Status()>& can_run = {});

}  // namespace ridge::app
