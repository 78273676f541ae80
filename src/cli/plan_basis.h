// The time of one run that further figures (load, cost) start from: given, measured, estimated, or else the bound.
#pragma once

#include <vector>

#include "base/result.h"
#include "sizing/capacity.h"

namespace ridge::cli {

struct Study;

// One per batch of the study. Of --service-ms and --from there is one: errors if the file is not what `ridge bench --json`
// prints, or was measured with another batch than the one that is planned.
Result<std::vector<sizing::Service>> services_of(const Study& study);

}  // namespace ridge::cli
