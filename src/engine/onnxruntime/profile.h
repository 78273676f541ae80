// Reads ONNX Runtime's profile (a Chrome trace) into the time of each node per run.
//
// Events of category "Node" whose name ends in "_kernel_time" are kernels; "model_run" events are the runs they belong
// to. A node that runs a subgraph (If, Loop, Scan) is charged only what its inner nodes do not account for, so that all
// times add up. ONNX Runtime truncates to microseconds; the half lost on average is added back to each call.
#pragma once

#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace ridge::engine::onnxruntime {

// Times over all runs but the first `skip_runs`, in the order of first execution. An error if no run is left.
Result<std::vector<NodeTime>> parse_profile(std::string_view text, int skip_runs);

}  // namespace ridge::engine::onnxruntime
