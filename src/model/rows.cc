#include "model/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/letter_case.h"

namespace ridge::model {
namespace {

// Parts of names of dimensions whose rows are one request's: positions of a sequence, counts of results.
constexpr std::string_view kNotRows[] = {"seq",  "len", "time",  "step",   "frame", "token", "word", "pos",
                                         "past", "num", "found", "detect", "box",   "count", "node", "edge"};

Status check_inputs(const Graph& graph) {
  if (graph.input_specs.empty()) return invalid("the model has no inputs");
  const GraphInput& first = graph.input_specs.front();
  for (const GraphInput& input : graph.input_specs) {
    if (input.symbols.empty() || input.symbols.front().empty())
      return invalid(
          fmt::format("input '{}' has no open first dimension: {}", input.spec.name, shape_text(input.spec.shape)));
    const std::string& symbol = input.symbols.front();
    if (symbol != first.symbols.front())
      return invalid(fmt::format("the first dimension of input '{}' is '{}', that of input '{}' is '{}'",
                                 first.spec.name, first.symbols.front(), input.spec.name, symbol));
    const std::string name = lower_case(symbol);
    if (std::ranges::any_of(kNotRows, [&](std::string_view part) { return name.find(part) != std::string::npos; }))
      return invalid(fmt::format("the first dimension of input '{}' is '{}', whose rows belong together",
                                 input.spec.name, symbol));
  }
  return {};
}

}  // namespace

Status check_rows_tied(const UnboundModel& model) {
  RIDGE_ASSIGN(const Graph open, model.bind());
  RIDGE_TRY(check_inputs(open));
  for (const int64_t rows : {3, 7}) {  // no output has both by chance
    Binding binding;
    binding.batch = rows;
    RIDGE_ASSIGN(const Graph graph, model.bind(binding));
    for (const TensorSpec& output : graph.output_specs)
      if (output.shape.empty() || output.shape.front() != rows)
        return invalid(
            fmt::format("the first dimension of output '{}' does not follow that of the inputs: {} rows in, "
                        "{} out",
                        output.name, rows, shape_text(output.shape)));
  }
  return {};
}

}  // namespace ridge::model
