#include "lab/device.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "lab/cuda_device.h"
#include "lab/native_device.h"
#include "lab/opencl_device.h"

namespace ridge::lab {
namespace {

Error unknown_device(std::string_view name) {
  return {Code::kInvalid, fmt::format("there is no device '{}': it is cpu, cuda:N or opencl:N with N from 0", name)};
}

// Of "opencl:2" in the family "opencl" 2; 0 where only the family is named; absent: it is not of that form.
std::optional<size_t> index_of(std::string_view name, std::string_view family) {
  if (!name.starts_with(family)) return std::nullopt;
  name.remove_prefix(family.size());
  if (name.empty()) return 0;
  size_t index = 0;
  const char* end = name.data() + name.size();
  auto [stop, error] = std::from_chars(name.data() + 1, end, index);
  return name[0] == ':' && error == std::errc() && stop == end ? std::optional(index) : std::nullopt;
}

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

Result<std::unique_ptr<Device>> open_device(std::string_view name) {
  if (name == "cpu") return open_native_device();
  if (std::optional<size_t> index = index_of(name, "cuda")) return open_cuda_device(*index);
  if (std::optional<size_t> index = index_of(name, "opencl")) return open_opencl_device(*index);
  return unknown_device(name);
}

Status check(Place& place, const Case& work) {
  for (const Variant& variant : work.variants) {
    if (variant.limit) continue;
    size_t output = variant.output.value_or(work.output);
    // What a variant does not write must not pass because another one wrote it.
    std::vector<float> got(work.buffers[output].size(), std::numeric_limits<float>::quiet_NaN());
    RIDGE_TRY(place.put(output, got));
    Result<double> ran = place.seconds(variant, 1);
    if (!ran) return wrap(ran.error(), work.title + ", " + variant.name);
    RIDGE_TRY(place.get(output, got));
    RIDGE_TRY(compare_with_expected(work, variant, got));
  }
  return {};
}

}  // namespace ridge::lab
