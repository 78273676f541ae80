#include "measure/non_finite.h"

#include <fmt/format.h>

#include <cmath>

#include "base/element.h"

namespace ridge::measure {
namespace {

struct Counts {
  size_t values = 0, nan = 0, infinite = 0;
};

Counts counts_of(const engine::Output& output) {
  Counts counts;
  if (!is_floating(output.type)) return counts;
  counts.values = output.data.size() / data_type_size(output.type);
  for (size_t i = 0; i < counts.values; ++i) {
    const double value = element(output.type, output.data, i);
    if (std::isnan(value)) ++counts.nan;
    if (std::isinf(value)) ++counts.infinite;
  }
  return counts;
}

}  // namespace

std::string non_finite_text(std::span<const TensorSpec> specs, std::span<const engine::Output> outputs) {
  std::string text;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Counts counts = counts_of(outputs[i]);
    if (counts.nan + counts.infinite == 0) continue;
    text += fmt::format("{}output '{}': {} of {} values are {}", text.empty() ? "" : "; ", specs[i].name,
                        counts.nan + counts.infinite, counts.values,
                        counts.infinite == 0 ? "NaN"
                        : counts.nan == 0    ? "infinite"
                                             : "NaN or infinite");
  }
  return text;
}

}  // namespace ridge::measure
