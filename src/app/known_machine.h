// This machine with its limits, for a verb that is followed.
#pragma once

#include "app/run_control.h"
#include "base/result.h"
#include "machine/machine.h"

namespace ridge::app {

// The limits are measured if they are not known, or `fresh`: control.note says so before.
Result<machine::Machine> know_machine(bool fresh, bool keep_disturbed, const RunControl& control);

}  // namespace ridge::app
