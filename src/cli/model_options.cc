#include "cli/model_options.h"

#include <fmt/format.h>

namespace ridge::cli {

Status check_symbols(const std::string& path, const model::Graph& graph) {
  if (graph.unbound.empty()) return {};
  return Error{Code::kInvalid, fmt::format("{} leaves open: {}; give each a value, e.g. --shape {}=128", path,
                                           fmt::join(graph.unbound, ", "), graph.unbound.front())};
}

Result<std::map<std::string, std::string>> parse_engine_options(const std::vector<std::string>& options) {
  std::map<std::string, std::string> parsed;
  for (const std::string& option : options) {
    size_t equals = option.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error{Code::kInvalid, "--engine-option takes KEY=VALUE, given '" + option + "'"};
    parsed[option.substr(0, equals)] = option.substr(equals + 1);
  }
  return parsed;
}

std::map<std::string, Shape> input_shapes(const model::Graph& graph) {
  std::map<std::string, Shape> shapes;
  for (const model::GraphInput& input : graph.input_specs) shapes[input.spec.name] = input.spec.shape;
  return shapes;
}

int64_t rows_of(const model::Graph& graph) {
  bool known = !graph.input_specs.empty() && !graph.input_specs.front().spec.shape.empty();
  return known ? graph.input_specs.front().spec.shape.front() : 1;
}

}  // namespace ridge::cli
