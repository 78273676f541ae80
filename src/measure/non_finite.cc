#include "measure/non_finite.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/half.h"

namespace ridge::measure {
namespace {

struct Counts {
  size_t values = 0, nan = 0, infinite = 0;
};

template <typename T, typename Convert>
Counts counted(std::span<const std::byte> data, Convert convert) {
  Counts counts{data.size() / sizeof(T)};
  for (size_t i = 0; i < counts.values; ++i) {
    T stored;
    std::memcpy(&stored, data.data() + i * sizeof(T), sizeof stored);
    const auto value = convert(stored);
    if (std::isnan(value)) ++counts.nan;
    if (std::isinf(value)) ++counts.infinite;
  }
  return counts;
}

Counts counts_of(const engine::Output& output) {
  const auto same = [](auto value) { return value; };
  switch (output.type) {
    case DataType::kFp32: return counted<float>(output.data, same);
    case DataType::kFp64: return counted<double>(output.data, same);
    case DataType::kFp16: return counted<uint16_t>(output.data, from_fp16);
    case DataType::kBf16: return counted<uint16_t>(output.data, from_bf16);
    default: return {};
  }
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
