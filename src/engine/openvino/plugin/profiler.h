// Collects what OpenVINO's counters say after each run. Thread-safe.
#pragma once

#include <mutex>
#include <openvino/runtime/profiling_info.hpp>
#include <string>
#include <vector>

#include "engine/openvino/profile.h"

namespace ridge::engine::openvino::plugin {

class Profiler {
 public:
  void add(const std::vector<ov::ProfilingInfo>& counters);
  // `described`: what is known of the layers, by name.
  Result<std::vector<NodeTime>> node_times(const std::vector<NodeTime>& described, int skip_runs) const;

 private:
  mutable std::mutex mutex_;
  std::vector<ProfiledLayer> layers_;              // guarded by mutex_, as is the next
  std::vector<std::vector<int64_t>> averages_us_;  // [run][layer]
};

}  // namespace ridge::engine::openvino::plugin
