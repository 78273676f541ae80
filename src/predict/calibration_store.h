// Calibrations stored between runs: one JSON file per machine and engine version, in the folder "calibration" beside the
// measured limits.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "predict/efficiency.h"

namespace ridge::predict {

// $XDG_CACHE_HOME/ridge/calibration or ~/.cache/ridge/calibration; "" where neither is set.
std::string default_calibration_folder();

// The newest calibration of machine `id` in `folder`; absent if there is none, which is no error. A damaged file costs a
// warning and counts as none.
std::optional<Efficiency> recall_calibration(const std::string& folder, const std::string& machine_id);

// Replaces the entry of the same machine and engine version. Returns the path.
Result<std::string> keep_calibration(const std::string& folder, const Efficiency& efficiency);

}  // namespace ridge::predict
