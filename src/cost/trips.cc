#include "cost/trips.h"

#include <algorithm>
#include <string_view>

namespace ridge::cost {
namespace {

// Exporters write `while` as a loop of almost endless length with a condition (tf2onnx, torch: the largest INT64).
// Assumed: 2³¹ iterations are never intended.
constexpr int64_t kEndless = int64_t{1} << 31;

// Inputs: maximum trip count, condition, carried values. A condition can end the loop earlier.
LoopTripCount loop(std::span<const Operand> inputs) {
  const bool counted = !inputs.empty() && inputs[0].present && inputs[0].values && inputs[0].values->size() == 1 &&
                       inputs[0].values->front() < kEndless;
  if (!counted) return {};
  const bool conditional = inputs.size() > 1 && inputs[1].present;
  return {.count = static_cast<double>(std::max<int64_t>(0, inputs[0].values->front())),
          .known = true,
          .certain = !conditional};
}

// The last num_scan_inputs inputs are sliced along an axis (0 or scan_input_axes): its length is the trip count.
LoopTripCount scan(const model::Node& node, std::span<const Operand> inputs) {
  const auto scanned =
      static_cast<size_t>(std::max<int64_t>(0, model::attribute_or<int64_t>(node, "num_scan_inputs", 0)));
  const auto body = model::attribute_or(node, "body", std::shared_ptr<const model::Graph>());
  if (body) inputs = inputs.first(std::min(inputs.size(), body->inputs.size()));
  if (scanned < 1 || scanned > inputs.size()) return {};
  const Operand& first = inputs[inputs.size() - scanned];
  if (!first.present || !first.shape) return {};
  const auto axes = model::attribute_or(node, "scan_input_axes", std::vector<int64_t>());
  int64_t axis = axes.empty() ? 0 : axes.front();
  const auto rank = static_cast<int64_t>(first.shape->size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || (*first.shape)[static_cast<size_t>(axis)] < 0) return {};
  return {.count = static_cast<double>((*first.shape)[static_cast<size_t>(axis)]), .known = true, .certain = true};
}

}  // namespace

LoopTripCount trips_of(const model::Node& node, std::span<const Operand> inputs) {
  if (node.op == "Loop") return loop(inputs);
  if (node.op == "Scan") return scan(node, inputs);
  if (node.op == "SequenceMap") return {};
  return {.count = 1, .known = true, .certain = true};
}

std::vector<std::shared_ptr<const model::Graph>> bodies_of(const model::Node& node, std::span<const Operand> inputs) {
  const bool chosen = node.op == "If" && !inputs.empty() && inputs[0].values && inputs[0].values->size() == 1;
  const std::string_view wanted = !chosen ? "" : inputs[0].values->front() != 0 ? "then_branch" : "else_branch";
  std::vector<std::shared_ptr<const model::Graph>> bodies;
  for (const auto& [name, attribute] : node.attributes) {
    const auto* body = std::get_if<std::shared_ptr<const model::Graph>>(&attribute);
    if (body != nullptr && *body && (wanted.empty() || name == wanted)) bodies.push_back(*body);
  }
  return bodies;
}

}  // namespace ridge::cost
