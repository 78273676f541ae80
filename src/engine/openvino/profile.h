// OpenVINO's per-layer counters as the time of each node per run.
//
// The engine keeps each layer's sum over all runs and returns its average, truncated to microseconds. The mean of the
// counted runs comes from two of these averages: after the runs that do not count, and after the last. Its truncation
// error is at most (counted + 2 · skipped) / counted µs; half a microsecond is added back for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace ridge::engine::openvino {

// The model's own nodes, from the names that a layer of the compiled graph lists: "a,b". A convolution that the reader
// of ONNX files split from its bias has the name of its node and a suffix.
std::vector<std::string> source_nodes(const std::string& list);

// One layer as the counters list it.
struct ProfiledLayer {
  NodeTime node;     // all but its times and counts
  bool ran = false;  // false: it was fused into another one
};

// averages_us[run][layer]: the counters after each run. Layers that did not run are left out. An error if no run is
// left.
Result<std::vector<NodeTime>> node_times(const std::vector<ProfiledLayer>& layers,
                                         const std::vector<std::vector<int64_t>>& averages_us, int skip_runs);

}  // namespace ridge::engine::openvino
