// Collects OpenVINO's counters after each run. Thread-safe.
#pragma once

#include <openvino/runtime/profiling_info.hpp>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "engine/openvino/profile.h"

namespace ridge::engine::openvino::plugin {

class Profiler {
 public:
  void add(const std::vector<ov::ProfilingInfo>& counters);
  // `described`: the known properties of the layers, by name.
  Result<std::vector<NodeTime>> node_times(const std::vector<NodeTime>& described, int skip_runs) const;

 private:
  mutable Mutex mutex_;
  std::vector<ProfiledLayer> layers_ RIDGE_GUARDED_BY(mutex_);
  std::vector<std::vector<int64_t>> averages_us_ RIDGE_GUARDED_BY(mutex_);  // [run][layer]
};

}  // namespace ridge::engine::openvino::plugin
