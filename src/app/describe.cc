#include "app/describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "cost/costs.h"
#include "model/inputs.h"

namespace ridge::app {
namespace {

// Symbols where the file has them, else sizes.
std::string text_of(const Shape& shape, const std::vector<std::string>& symbols) {
  std::vector<std::string> sizes;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool named = i < symbols.size() && !symbols[i].empty();
    sizes.push_back(shape[i] >= 0 ? std::to_string(shape[i]) : named ? symbols[i] : "?");
  }
  return fmt::format("[{}]", fmt::join(sizes, ","));
}

std::vector<std::string> weight_types(const model::Graph& graph) {
  std::map<std::string, int64_t> elements;
  int64_t all = 0;
  for (const model::TensorInfo& tensor : graph.tensors) {
    if (tensor.role != model::TensorRole::kWeight || !tensor.shape) continue;
    const int64_t count = element_count(*tensor.shape).value_or(0);
    elements[std::string(data_type_name(tensor.type))] += count;
    all += count;
  }
  std::vector<std::string> types;
  for (const auto& [type, count] : elements)
    if (count > 0 && count >= all / 100) types.push_back(type);
  std::stable_sort(types.begin(), types.end(), [&](const auto& a, const auto& b) { return elements[a] > elements[b]; });
  return types;
}

// A symbol by its name; an input with an unnamed dimension, or a symbol that --shape cannot spell, as a whole.
std::vector<std::string> likely_shapes(const model::Graph& graph) {
  std::vector<std::string> shapes;
  std::vector<std::string> given;
  for (const model::GraphInput& input : graph.input_specs) {
    const Shape likely = model::example_of(input.spec.shape);
    const bool open = likely != input.spec.shape;
    const bool whole = open && std::find(input.symbols.begin(), input.symbols.end(), "?") != input.symbols.end();
    if (whole) shapes.push_back(fmt::format("{}={}", input.spec.name, fmt::join(likely, "x")));
    for (size_t i = 0; open && !whole && i < likely.size() && i < input.symbols.size(); ++i) {
      const std::string& symbol = input.symbols[i];
      if (input.spec.shape[i] >= 0 || std::find(given.begin(), given.end(), symbol) != given.end()) continue;
      given.push_back(symbol);
      shapes.push_back(fmt::format("{}={}", symbol, likely[i]));
    }
  }
  return shapes;
}

}  // namespace

Result<ModelDescription> describe(const std::string& given, const model::UnboundModel& model, model::Binding binding) {
  RIDGE_ASSIGN(const model::Graph open, model.bind(binding));
  binding.batch = 1;
  binding.insist_on_batch = false;
  binding.data_sizes_at_most = true;
  RIDGE_ASSIGN(const model::Graph graph, model.bind(binding));
  ModelDescription description;
  description.model = given;
  description.producer = open.producer;
  description.is_ir = model.is_ir();
  description.opset = open.opset;
  description.nodes = static_cast<int64_t>(open.nodes.size());
  description.parameters = open.parameters;
  description.weight_bytes = open.weight_bytes;
  description.weight_types = weight_types(open);
  for (const model::GraphInput& input : open.input_specs)
    description.inputs.push_back(
        {input.spec.name, std::string(data_type_name(input.spec.type)), text_of(input.spec.shape, input.symbols)});
  for (size_t i = 0; i < open.output_specs.size(); ++i) {
    const TensorSpec& output = open.output_specs[i];
    description.outputs.push_back(
        {output.name, std::string(data_type_name(output.type)), text_of(output.shape, open.output_symbols[i])});
  }
  description.shapes = likely_shapes(graph);
  const cost::Costs costs = cost::count(graph);
  description.without_rule = costs.without_rule;
  const bool uncounted = costs.flops == 0 && !costs.without_rule.empty();
  if (description.shapes.empty() && costs.unknown_shapes.empty() && !uncounted) description.flops = costs.flops;
  return description;
}

}  // namespace ridge::app
