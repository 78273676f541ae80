// Several models on one machine, tuned together. Prints nothing.
#pragma once

#include <vector>

#include "app/run_control.h"
#include "app/tune_request.h"
#include "base/result.h"
#include "tune/share/co_located_tuning.h"

namespace ridge::app {

struct ShareResult {
  tune::share::CoLocatedTuning tuning;
  Status saved = {};  // error: the repository was not written
};

// True if the answer is no: the goals cannot be met together.
inline bool is_no(const ShareResult& result) { return result.tuning.choice == tune::Choice::kNone; }

// Each model follows tune() alone up to the search; then partitions of the machine are searched. Interrupted before the
// co-located measurement: kCancelled.
// `models`: those of the request, read, parallel to them.
Result<ShareResult> tune_share(const ShareRequest& request, std::vector<model::WholeModel> models,
                               const RunControl& control);

}  // namespace ridge::app
