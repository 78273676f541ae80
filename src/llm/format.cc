#include "llm/format.h"

namespace ridge::llm {
namespace {

using catalogue::Arithmetic;

// Bits: 8 + 32/128² (FP8 block), 4 + 8/16 (NVFP4), 4 + 8/32 (MXFP4: OCP Microscaling Formats 1.0), 4 + (16 + 4)/128 (GPTQ), 8 + 16/32 (Q8_0),
// 6 + 8/16 + 16/256 (Q6_K), 4.8 of the layers of a Q4_K_M file, of which some matrices are Q6_K (llama.cpp, Llama-3-8B).
constexpr std::array<FormatFacts, 11> kFormats = {{
    {Format::kFp32, "fp32", 32, Arithmetic::kTf32, 32, "bfloat16", "bfloat16"},
    {Format::kBf16, "bf16", 16, Arithmetic::kBf16, 16, "bfloat16", "bfloat16"},
    {Format::kFp8, "fp8", 8, Arithmetic::kFp8, 8, "fp8", "int4_wo"},
    {Format::kFp8Block, "fp8-block", 8 + 32.0 / (128 * 128), Arithmetic::kFp8, 8, "fp8_block", "int4_wo"},
    {Format::kInt8, "int8", 8, Arithmetic::kInt8, 8, "fp8", "int4_wo"},
    {Format::kNvfp4, "nvfp4", 4.5, Arithmetic::kFp4, 4.5, "nvfp4", "w4a16_mxfp4"},
    {Format::kMxfp4, "mxfp4", 4.25, Arithmetic::kFp4, 8.25, "w4a8_mxfp4_mxfp8", "w4a16_mxfp4"},
    {Format::kInt4, "int4", 4 + (16 + 4) / 128.0, Arithmetic::kBf16, 16, "int4_wo", "int4_wo"},
    {Format::kQ80, "q8_0", 8.5, Arithmetic::kBf16, 16, "int4_wo", "int4_wo", Format::kQ80},
    {Format::kQ6K, "q6_k", 6.5625, Arithmetic::kBf16, 16, "int4_wo", "int4_wo", Format::kQ6K},
    {Format::kQ4KM, "q4_k_m", 4.8, Arithmetic::kBf16, 16, "int4_wo", "int4_wo", Format::kQ6K},
}};
constexpr auto kNames = [] {
  std::array<std::pair<Format, std::string_view>, kFormats.size()> names;
  for (size_t i = 0; i < kFormats.size(); ++i) names[i] = {kFormats[i].format, kFormats[i].name};
  return names;
}();

}  // namespace

NameTable<Format> names_of(Format) { return kNames; }
const FormatFacts& facts_of(Format format) { return kFormats[static_cast<size_t>(format)]; }
Result<Format> format_from_name(std::string_view name) { return from_name<Format>(kNames, name, "form of weights"); }

}  // namespace ridge::llm
