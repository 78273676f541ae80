#include "lab/device.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <vector>

namespace ridge::lab {
namespace {

Status compare_with_expected(const Case& work, const Variant& variant, std::span<const float> got) {
  const std::vector<float>& expected = work.expected.at(variant.expected);
  for (size_t i = 0; i < expected.size(); ++i) {
    double error = std::abs(static_cast<double>(got[i]) - expected[i]);
    double allowed = work.tolerance * std::max(1.0, std::abs(static_cast<double>(expected[i])));
    if (!(error <= allowed))  // also where `got` is not a number
      return Error{Code::kFailed, fmt::format("{}, {}: value {} is {}, the reference says {} (± {:.2g})", work.title,
                                              variant.name, i, got[i], expected[i], allowed)};
  }
  return {};
}

}  // namespace

Result<Device> open_device(std::string_view name) {
  return name == "cpu" ? open_native_device() : open_kernel_device(name);
}

Status check(PreparedCase& prepared, const Case& work) {
  for (const Variant& variant : work.variants) {
    if (variant.limit) continue;
    size_t output = variant.output.value_or(work.output);
    // A variant's missing output must not pass because another variant wrote it.
    std::vector<float> got(work.buffers[output].size(), std::numeric_limits<float>::quiet_NaN());
    RIDGE_TRY(prepared.put(output, got));
    Result<double> ran = prepared.seconds(variant, 1);
    if (!ran) return wrap(ran.error(), work.title + ", " + variant.name);
    RIDGE_TRY(prepared.get(output, got));
    RIDGE_TRY(compare_with_expected(work, variant, got));
  }
  return {};
}

}  // namespace ridge::lab
