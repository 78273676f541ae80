// What this machine gives `ridge serve`.
#pragma once

#include "app/serve.h"

namespace ridge::app {

// Sets the CPUs usable by this process (affinity and container quota count, not the machine's total), their limits, and
// the memory for bodies.
void fit_machine(ServeRequest& request);

}  // namespace ridge::app
