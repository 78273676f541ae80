// Several models on one machine, tuned together. Prints nothing.
#pragma once

#include "app/run_control.h"
#include "app/tune_request.h"
#include "base/result.h"
#include "tune/share/co_located_tuning.h"

namespace ridge::app {

// Each model follows tune() alone up to the search; then partitions of the machine are searched. Interrupted before the
// co-located measurement: kCancelled.
Result<tune::share::CoLocatedTuning> tune_share(const ShareRequest& request, const RunControl& control);

}  // namespace ridge::app
