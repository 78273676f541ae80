#include "model/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace ridge::model {
namespace {

bool has_open(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; });
}

std::string option_text(const Shape& shape) { return fmt::format("{}", fmt::join(shape, "x")); }

}  // namespace

Shape example_of(Shape shape) {
  const int64_t likely = shape.size() == 4 ? 224 : 128;
  std::replace_if(shape.begin(), shape.end(), [](int64_t size) { return size < 0; }, likely);
  return shape;
}

Status check_open_dimensions(const std::string& path, const Graph& graph) {
  if (graph.unbound.empty()) {
    for (const GraphInput& input : graph.input_specs)
      if (has_open(input.spec.shape))
        return invalid(fmt::format(
            "{} has unnamed dynamic dimensions in input {}: {}; give the whole shape, e.g. --shape {}={}", path,
            input.spec.name, shape_text(input.spec.shape), input.spec.name, option_text(example_of(input.spec.shape))));
    return {};
  }
  return Error{Code::kInvalid,
               fmt::format("{} has dynamic dimensions without a value: {}; give each one, e.g. --shape {}=128", path,
                           fmt::join(graph.unbound, ", "), graph.unbound.front())};
}

std::map<std::string, Shape> input_shapes(const Graph& graph) {
  std::map<std::string, Shape> shapes;
  for (const GraphInput& input : graph.input_specs) shapes[input.spec.name] = input.spec.shape;
  return shapes;
}

bool has_open_batch(const Graph& graph) {
  if (graph.input_specs.empty()) return false;
  const std::vector<std::string>& symbols = graph.input_specs.front().symbols;
  return !symbols.empty() && !symbols.front().empty();
}

int64_t rows_of(const Graph& graph) {
  return graph.input_specs.empty() ? 1 : rows_of(graph, graph.input_specs.front().spec.shape);
}

int64_t rows_of(const Graph& graph, const Shape& first_input) {
  const auto lacks_it = [&](const TensorSpec& output) {
    return output.shape.empty() || output.shape.front() != first_input.front();
  };
  const bool none =
      first_input.empty() ||
      (!has_open_batch(graph) && (first_input.size() == 1 || std::ranges::any_of(graph.output_specs, lacks_it)));
  return none ? 1 : first_input.front();
}

}  // namespace ridge::model
