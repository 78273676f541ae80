#include "checkpoint/weight_format.h"

#include <algorithm>
#include <array>

namespace ridge::checkpoint {
namespace {

struct Storage {
  WeightFormat format;
  std::string_view name;
  double bits;
  double group = 1, scale_bits = 0, zero_bits = 0;
};
// MXFP4: OCP Microscaling Formats 1.0. Q6_K: scales of 8 bits per 16 values, and of 16 bits per 256. Q4_K_M: the mean
// of the layers of such a file, of which some matrices are Q6_K (llama.cpp, Llama-3-8B).
constexpr std::array<Storage, 12> kStorage = {{
    {WeightFormat::kFp32, "fp32", 32},
    {WeightFormat::kBf16, "bf16", 16},
    {WeightFormat::kFp16, "fp16", 16},
    {WeightFormat::kFp8, "fp8", 8},
    {WeightFormat::kFp8Block, "fp8-block", 8, 128 * 128, 32},
    {WeightFormat::kInt8, "int8", 8},
    {WeightFormat::kNvfp4, "nvfp4", 4, 16, 8},
    {WeightFormat::kMxfp4, "mxfp4", 4, 32, 8},
    {WeightFormat::kInt4, "int4", 4, 128, 16, 4},
    {WeightFormat::kQ80, "q8_0", 8, 32, 16},
    {WeightFormat::kQ6K, "q6_k", 6, 16, 9},
    {WeightFormat::kQ4KM, "q4_k_m", 4.8},
}};
constexpr auto kWeightFormats = [] {
  std::array<std::pair<WeightFormat, std::string_view>, kStorage.size()> names;
  for (size_t i = 0; i < kStorage.size(); ++i) names[i] = {kStorage[i].format, kStorage[i].name};
  return names;
}();

}  // namespace

NameTable<WeightFormat> names_of(WeightFormat) { return kWeightFormats; }
Result<WeightFormat> weight_format(std::string_view name) {
  return from_name<WeightFormat>(kWeightFormats, name, "form of weights");
}

double bits_of(WeightFormat format) {
  const Storage& s = kStorage[static_cast<size_t>(format)];
  return s.bits + (s.scale_bits + s.zero_bits) / s.group;
}
double other_bits_of(WeightFormat format) { return std::max(16.0, bits_of(format)); }

}  // namespace ridge::checkpoint
