#include "engine/openvino/profile.h"

#include <algorithm>
#include <sstream>
#include <string_view>

namespace ridge::engine::openvino {

std::vector<std::string> source_nodes(const std::string& list) {
  constexpr std::string_view kSuffix = "/WithoutBiases";
  std::vector<std::string> names;
  std::istringstream text(list);
  for (std::string name; std::getline(text, name, ',');) {
    if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
    names.push_back(std::move(name));
  }
  return names;
}

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
