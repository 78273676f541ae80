#include "lab/device.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <vector>

namespace ridge::lab {
namespace {

// Errors within the values' own tolerance, which know nothing of the weights' signs, add up to more than this many
// times the root of the sum of their squares with a probability of 2 · exp(−8² / 2) < 1e-13 (Hoeffding's inequality).
constexpr double kDeviations = 8;

Status compare_sums(const Case& work, const Variant& variant, std::span<const float> got) {
  const size_t columns = work.sums->weights.size();
  for (size_t row = 0; row < work.sums->expected.size(); ++row) {
    double sum = 0, squares = 0;
    for (size_t column = 0; column < columns; ++column) {
      const double value = got[row * columns + column];
      const double allowed = work.tolerance * std::max(1.0, std::abs(value));
      sum += value * work.sums->weights[column];
      squares += allowed * allowed;
    }
    const double expected = work.sums->expected[row], allowed = kDeviations * std::sqrt(squares);
    if (!(std::abs(sum - expected) <= allowed))  // also where a value is not a number
      return Error{Code::kFailed,
                   fmt::format("{}, {}: row {} is wrong: with signs it sums to {}, the reference says {} (± {:.2g})",
                               work.title, variant.name, row, sum, expected, allowed)};
  }
  return {};
}

Status compare_with_expected(const Case& work, const Variant& variant, std::span<const float> got) {
  const Reference& reference = work.expected.at(variant.expected);
  for (size_t i = 0; i < got.size(); ++i) {
    const double computed = reference(work.buffers, i), expected = std::isnan(computed) ? got[i] : computed;
    const double allowed = variant.tolerance.value_or(work.tolerance) * std::max(1.0, std::abs(expected));
    if (!(std::abs(got[i] - expected) <= allowed))  // also where `got` is not a number
      return Error{Code::kFailed, fmt::format("{}, {}: value {} is {}, the reference says {} (± {:.2g})", work.title,
                                              variant.name, i, got[i], computed, allowed)};
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
    if (work.sums && variant.expected == 0) RIDGE_TRY(compare_sums(work, variant, got));
  }
  return {};
}

}  // namespace ridge::lab
