#include "engine/openvino/executed.h"

#include <gtest/gtest.h>

#include <vector>

namespace ridge::engine::openvino {
namespace {

std::vector<ExecutedLayer> network(const std::string& first, const std::string& second) {
  return {{"conv", "Convolution", first, "brgconv_avx512_" + first},
          {"pool", "Pooling", "bf16", "jit_avx512_bf16"},
          {"dense", "FullyConnected", second, "brgemm_avx512_" + second}};
}

TEST(Executed, CountsTheLayersThatMultiplyMostFrequentPrecisionFirst) {
  std::vector<ExecutedLayer> layers = network("f32", "bf16");
  layers.push_back({"conv2", "Convolution", "bf16", ""});
  EXPECT_EQ(precisions_text(layers), "bf16 in 2 layers, f32 in 1");
  EXPECT_EQ(precisions_text({}), "");
}

TEST(Executed, Fp32MeansThatEveryLayerThatMultipliesIsIt) {
  EXPECT_TRUE(verify(Precision::kFp32, network("f32", "f32")).ok())
      << "pooling in bf16 rounds what is stored so already";
  Status verdict = verify(Precision::kFp32, network("f32", "bf16"));
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.error().code, Code::kUnsupported);
  EXPECT_NE(verdict.error().message.find("layer 'dense' executes in bf16"), std::string::npos)
      << verdict.error().message;
}

TEST(Executed, AReducedPrecisionMustShowInAtLeastOneLayerAndNotByAReferenceKernel) {
  EXPECT_TRUE(verify(Precision::kBf16, network("bf16", "f32")).ok());
  EXPECT_FALSE(verify(Precision::kBf16, network("f32", "f32")).ok());
  EXPECT_TRUE(verify(Precision::kInt8, network("u8", "f32")).ok());
  EXPECT_FALSE(verify(Precision::kFp16, network("bf16", "bf16")).ok())
      << "the engine's substitute is not what was asked";
  std::vector<ExecutedLayer> slow = network("bf16", "bf16");
  slow[0].kernel = "ref_any_bf16";
  EXPECT_FALSE(verify(Precision::kBf16, slow).ok());
}

TEST(Executed, AModelWithoutProductsGainsNothing) {
  const std::vector<ExecutedLayer> layers = {{"relu", "Eltwise", "f32", "jit_avx512_f32"}};
  EXPECT_TRUE(verify(Precision::kFp32, layers).ok());
  Status verdict = verify(Precision::kBf16, layers);
  ASSERT_FALSE(verdict.ok());
  EXPECT_NE(verdict.error().message.find("no layer with multiplications"), std::string::npos)
      << verdict.error().message;
}

TEST(InstructionSets, TheReasonNamesWhatTheCpuLacks) {
  InstructionSets avx2;
  avx2.known = true;
  EXPECT_EQ(missing_for(Precision::kFp32, avx2), std::nullopt);
  EXPECT_EQ(missing_for(Precision::kInt8, avx2), std::nullopt);
  EXPECT_EQ(missing_for(Precision::kBf16, avx2), "this CPU has neither AVX512_BF16 nor AMX-BF16");
  EXPECT_EQ(missing_for(Precision::kFp16, avx2), "this CPU has neither AVX512_FP16 nor AMX-FP16");
  InstructionSets arm;
  EXPECT_EQ(missing_for(Precision::kFp16, arm), std::nullopt) << "not read there; the compiled graph decides";
}

TEST(InstructionSets, ACapOnTheEngineTakesAwayWhatTheCpuHas) {
  InstructionSets sets;
  sets.known = sets.avx512_bf16 = true;
  EXPECT_EQ(missing_for(Precision::kBf16, sets), std::nullopt);
  for (const char* cap : {"AVX2", "avx512_core_vnni", "SSE41"}) {
    sets.cap = cap;
    ASSERT_TRUE(missing_for(Precision::kBf16, sets).has_value()) << cap;
    EXPECT_NE(missing_for(Precision::kBf16, sets)->find(cap), std::string::npos);
  }
  for (const char* cap : {"AVX512_CORE_BF16", "DEFAULT", ""}) {
    sets.cap = cap;
    EXPECT_EQ(missing_for(Precision::kBf16, sets), std::nullopt) << cap;
  }
}

}  // namespace
}  // namespace ridge::engine::openvino
