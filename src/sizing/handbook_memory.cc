#include "sizing/handbook_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/units.h"
#include "cost/operators.h"

namespace ridge::sizing {
namespace {

constexpr double kResnet50Parameters = 25557032;  // torchvision, as in `ridge make resnet50`

const Shape* shape_of(const model::Graph& graph, int index) {
  if (index < 0) return nullptr;
  const auto& shape = graph.tensors[static_cast<size_t>(index)].shape;
  return shape ? &*shape : nullptr;
}

// The most common input width of the linear layers.
double usual_width(const model::Graph& graph) {
  std::map<int64_t, int> times;
  for (const model::Node& node : graph.nodes) {
    const bool product = cost::operator_of(node.domain, node.op).kernel == cost::KernelFamily::kMatMul;
    if (!product || node.inputs.size() < 2) continue;
    const Shape* weight = shape_of(graph, node.inputs[1]);
    const bool constant =
        weight && graph.tensors[static_cast<size_t>(node.inputs[1])].role == model::TensorRole::kWeight;
    if (!constant || weight->size() != 2) continue;
    bool transposed = model::attribute_or<int64_t>(node, "transB", 0) != 0;
    ++times[(*weight)[transposed ? 1 : 0]];
  }
  auto most = std::max_element(times.begin(), times.end(), [](auto& a, auto& b) { return a.second < b.second; });
  return most == times.end() ? 0 : static_cast<double>(most->first);
}

void note_states(const TrainingSetup& setup, std::vector<std::string>& notes) {
  StateBytes bytes = state_bytes(setup.optimiser, setup.precision);
  double formula = setup.precision == TrainingPrecision::kFp32 ? 8 : 4;
  if (bytes.optimiser != formula)
    notes.push_back(
        fmt::format("optimiser: the formula takes two moments of the weights' own type, {:g} bytes per "
                    "parameter; {} in {} keeps {:g}{}",
                    formula, optimiser_name(setup.optimiser), training_precision_name(setup.precision), bytes.optimiser,
                    setup.precision == TrainingPrecision::kMixed ? " (FP32 master weights and moments)" : ""));
}

void note_activations(const TrainingProfile& profile, double per_row, std::vector<std::string>& notes) {
  if (per_row <= 0 || profile.batch <= 0) return;
  double graph = profile.kept_bytes / profile.batch;
  std::string ops;
  for (size_t i = 0; i < std::min<size_t>(3, profile.kept_by_operator.size()); ++i)
    ops += fmt::format("{}{} {}", i ? ", " : "", profile.kept_by_operator[i].first,
                       format_bytes(profile.kept_by_operator[i].second / profile.batch));
  notes.push_back(
      fmt::format("activations per row: {} by the graph, {} by the handbook ({:.1f} ×): the backward pass needs the "
                  "inputs of every layer, not one tensor per layer; kept for {}",
                  format_bytes(graph), format_bytes(per_row), graph / per_row, ops));
}

}  // namespace

std::optional<TransformerSizes> transformer_sizes(const model::Graph& graph) {
  TransformerSizes sizes;
  for (const model::Node& node : graph.nodes) {
    if (!cost::operator_of(node.domain, node.op).is(cost::Trait::kSumsToOne) || node.inputs.empty()) continue;
    const Shape* shape = shape_of(graph, node.inputs[0]);
    if (!shape || shape->size() != 4) continue;
    ++sizes.layers;
    sizes.length = std::max(sizes.length, static_cast<double>((*shape)[2]));
  }
  sizes.hidden = usual_width(graph);
  if (sizes.layers == 0 || sizes.hidden == 0 || sizes.length <= 0) return std::nullopt;
  return sizes;
}

HandbookMemory handbook_memory(double parameters, double bytes, double batch,
                               const std::optional<TransformerSizes>& sizes) {
  HandbookMemory memory{parameters * bytes, parameters * bytes, 2 * parameters * bytes, std::nullopt};
  if (sizes) memory.activations = batch * sizes->length * sizes->hidden * sizes->layers * bytes;
  return memory;
}

bool is_resnet50(double parameters, const model::Graph& graph) {
  bool convolves = std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const auto& n) {
    return cost::operator_of(n.domain, n.op).kernel == cost::KernelFamily::kConvolution;
  });
  return convolves && std::abs(parameters / kResnet50Parameters - 1) < 0.01;
}

HandbookComparison compare_with_handbook(const model::Graph& graph, const TrainingProfile& profile,
                                         const TrainingSetup& setup, const TrainingMemory& memory) {
  HandbookComparison result;
  double bytes = setup.precision == TrainingPrecision::kFp32 ? 4 : 2;
  std::optional<TransformerSizes> sizes = transformer_sizes(graph);
  result.memory = handbook_memory(profile.parameters, bytes, profile.batch, sizes);
  const bool resnet50 = is_resnet50(profile.parameters, graph);
  if (resnet50) result.memory.activations = profile.batch * kHandbookResnet50ActivationBytes * bytes / 4;
  note_states(setup, result.notes);
  if (result.memory.activations)
    note_activations(profile, *result.memory.activations / profile.batch, result.notes);
  else
    result.notes.push_back("activations: the formula B·L·H·N_l·b_a is for transformers; this model has no attention");
  if (resnet50)
    result.notes.push_back(
        "by the handbook's table batch 1024 needs 10.6 GiB in FP32 and fits 24 GB, but its own training run ended out "
        "of "
        "memory there (L24); by the graph 512 fits in 16 bits and 1024 does not");
  if (memory.host > 0 || setup.devices > 1 || setup.lora_rank > 0 || setup.checkpoint)
    result.notes.push_back("the formula covers one device without sharding, offload, adapters or checkpoints");
  return result;
}

}  // namespace ridge::sizing
