#include "predict/fusion.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "predict/fusion_passes.h"

namespace ridge::predict {
namespace {

using Body = std::shared_ptr<const model::Graph>;

void names_in(const model::Graph& graph, std::unordered_set<std::string_view>& names) {
  for (const model::TensorInfo& tensor : graph.tensors) names.insert(tensor.name);
  for (const model::Node& node : graph.nodes)
    for (const auto& [key, attribute] : node.attributes)
      if (const Body* body = std::get_if<Body>(&attribute); body != nullptr && *body) names_in(**body, names);
}

// What the bodies of loops and branches use of the graph around them becomes visible as inputs of their node, so that no
// step takes it away.
void show_captured(model::Graph& graph) {
  std::unordered_map<std::string_view, int> by_name;
  for (model::Node& node : graph.nodes) {
    std::unordered_set<std::string_view> names;
    for (const auto& [key, attribute] : node.attributes)
      if (const Body* body = std::get_if<Body>(&attribute); body != nullptr && *body) names_in(**body, names);
    if (names.empty()) continue;
    if (by_name.empty())
      for (size_t t = 0; t < graph.tensors.size(); ++t) by_name.emplace(graph.tensors[t].name, static_cast<int>(t));
    for (std::string_view name : names)
      if (auto found = by_name.find(name); found != by_name.end() && !name.empty())
        node.inputs.push_back(found->second);
  }
}

void rewrite(Rewriter& rewriter, const EngineTraits& traits) {
  spell_out_functions(rewriter);
  if (traits.level == plan::GraphLevel::kOff) return;
  drop_what_does_not_run(rewriter);
  fold_into_convolutions(rewriter);
  fuse_matmul_and_add(rewriter);
  if (traits.level == plan::GraphLevel::kBasic) return;
  fuse_quantised(rewriter);
  fuse_activations(rewriter);
  fuse_gelu(rewriter);
  fuse_layer_normalisation(rewriter);
  fuse_attention(rewriter);
  fuse_skip_layer_normalisation(rewriter);
  if (traits.level == plan::GraphLevel::kExtended) return;
  block_channels(rewriter, traits.block);
  fuse_additions(rewriter);
}

}  // namespace

Execution execution_of(const model::Graph& graph, const EngineTraits& traits) {
  model::Graph visible = graph;
  show_captured(visible);
  Rewriter rewriter(std::move(visible));
  rewrite(rewriter, traits);
  std::vector<DerivedWeight> derived = rewriter.derived();
  return {rewriter.finish(), std::move(derived)};
}

model::Graph executed_graph(const model::Graph& graph, const EngineTraits& traits) {
  return execution_of(graph, traits).graph;
}

}  // namespace ridge::predict
