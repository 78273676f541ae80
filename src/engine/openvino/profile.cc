#include "engine/openvino/profile.h"

#include <algorithm>

namespace ridge::engine::openvino {

Result<std::vector<NodeTime>> node_times(const std::vector<ProfiledLayer>& layers,
                                         const std::vector<std::vector<int64_t>>& averages_us, int skip_runs) {
  const size_t runs = averages_us.size();
  const auto skipped = static_cast<size_t>(std::max(skip_runs, 0));
  if (runs <= skipped)
    return Error{Code::kInvalid, "OpenVINO's profile holds " + std::to_string(runs) + " runs, the first " +
                                     std::to_string(skipped) + " do not count; run more"};
  const auto counted = static_cast<double>(runs - skipped);
  std::vector<NodeTime> nodes;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!layers[i].ran) continue;
    const double all = static_cast<double>(averages_us[runs - 1][i]) * static_cast<double>(runs);
    const double before =
        skipped == 0 ? 0 : static_cast<double>(averages_us[skipped - 1][i]) * static_cast<double>(skipped);
    NodeTime node = layers[i].node;
    node.mean_us = std::max(0.0, (all - before) / counted) + 0.5;
    node.typical_us = node.mean_us;
    node.runs = node.calls = static_cast<int>(runs - skipped);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace ridge::engine::openvino
