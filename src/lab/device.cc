#include "lab/device.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "lab/native_device.h"
#include "lab/opencl_device.h"

namespace ridge::lab {
namespace {

Error unknown_device(std::string_view name) {
  return {Code::kInvalid, fmt::format("there is no device '{}': it is cpu, or opencl:N with N from 0", name)};
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
  if (name.substr(0, 6) != "opencl") return unknown_device(name);
  size_t index = 0;
  if (name.size() > 6) {
    const char* end = name.data() + name.size();
    auto [stop, error] = std::from_chars(name.data() + 7, end, index);
    if (name[6] != ':' || error != std::errc() || stop != end || name.size() == 7) return unknown_device(name);
  }
  return open_opencl_device(index);
}

Status check(Place& place, const Case& work) {
  // What a variant does not write must not pass because another one wrote it.
  const std::vector<float> nothing(work.buffers[work.output].size(), std::numeric_limits<float>::quiet_NaN());
  std::vector<float> got(nothing.size());
  for (const Variant& variant : work.variants) {
    RIDGE_TRY(place.put(work.output, nothing));
    Result<double> ran = place.seconds(variant, 1);
    if (!ran) return wrap(ran.error(), work.title + ", " + variant.name);
    RIDGE_TRY(place.get(work.output, got));
    RIDGE_TRY(compare_with_expected(work, variant, got));
  }
  return {};
}

}  // namespace ridge::lab
