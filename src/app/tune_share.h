// Several models on one machine, tuned together. Prints nothing.
#pragma once

#include "app/run_control.h"
#include "app/tune_request.h"
#include "base/result.h"
#include "tune/share/co_located_tuning.h"

namespace ridge::app {

// Each model goes the way of tune() alone as far as the search; then splits of the machine between them are searched. Interrupted
// before they were measured together: kCancelled.
Result<tune::share::CoLocatedTuning> tune_share(const ShareRequest& request, const RunControl& control);

}  // namespace ridge::app
