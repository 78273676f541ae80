#include "engine/openvino/plugin/profiler.h"

#include <map>

namespace ridge::engine::openvino::plugin {

void Profiler::add(const std::vector<ov::ProfilingInfo>& counters) {
  MutexLock lock(mutex_);
  if (layers_.empty()) {
    for (const ov::ProfilingInfo& counter : counters) {
      ProfiledLayer layer;
      layer.node.name = counter.node_name;
      layer.node.op = counter.node_type;
      layer.node.provider = counter.exec_type;
      layers_.push_back(std::move(layer));
    }
  }
  std::vector<int64_t> averages(layers_.size());
  for (size_t i = 0; i < layers_.size() && i < counters.size(); ++i) {
    averages[i] = counters[i].real_time.count();
    if (counters[i].status == ov::ProfilingInfo::Status::EXECUTED) layers_[i].ran = true;
  }
  averages_us_.push_back(std::move(averages));
}

Result<std::vector<NodeTime>> Profiler::node_times(const std::vector<NodeTime>& described, int skip_runs) const {
  std::map<std::string, const NodeTime*> by_name;
  for (const NodeTime& layer : described) by_name.emplace(layer.name, &layer);
  MutexLock lock(mutex_);
  std::vector<ProfiledLayer> layers = layers_;
  for (ProfiledLayer& layer : layers) {
    const auto found = by_name.find(layer.node.name);
    if (found == by_name.end()) continue;
    const std::string kernel = layer.node.provider;  // of the run: the graph knows none while shapes are open
    layer.node = *found->second;
    layer.node.provider = kernel;
  }
  return openvino::node_times(layers, averages_us_, skip_runs);
}

}  // namespace ridge::engine::openvino::plugin
