#include "llm/format.h"

#include <array>

namespace ridge::llm {
namespace {

constexpr std::array<FormatFacts, 12> kFormats = {{
    {WeightFormat::kFp32, Precision::kTf32, 32, "bfloat16", "bfloat16"},
    {WeightFormat::kBf16, Precision::kBf16, 16, "bfloat16", "bfloat16"},
    {WeightFormat::kFp16, Precision::kBf16, 16, "bfloat16", "bfloat16"},
    {WeightFormat::kFp8, Precision::kFp8, 8, "fp8", "int4_wo"},
    {WeightFormat::kFp8Block, Precision::kFp8, 8, "fp8_block", "int4_wo"},
    {WeightFormat::kInt8, Precision::kInt8, 8, "fp8", "int4_wo"},
    {WeightFormat::kNvfp4, Precision::kFp4, 4.5, "nvfp4", "w4a16_mxfp4"},
    {WeightFormat::kMxfp4, Precision::kFp4, 8.25, "w4a8_mxfp4_mxfp8", "w4a16_mxfp4"},
    {WeightFormat::kInt4, Precision::kBf16, 16, "int4_wo", "int4_wo"},
    {WeightFormat::kQ80, Precision::kBf16, 16, "int4_wo", "int4_wo", WeightFormat::kQ80},
    {WeightFormat::kQ6K, Precision::kBf16, 16, "int4_wo", "int4_wo", WeightFormat::kQ6K},
    {WeightFormat::kQ4KM, Precision::kBf16, 16, "int4_wo", "int4_wo", WeightFormat::kQ6K},
}};

}  // namespace

const FormatFacts& facts_of(WeightFormat format) { return kFormats[static_cast<size_t>(format)]; }

}  // namespace ridge::llm
