#include "llm/cpu/token_limit.h"

#include <gtest/gtest.h>

#include <limits>

namespace ridge::llm::cpu {
namespace {

// A decoder of one layer: q, k, v, o 4 · 64 · 64, three matrices 64 · 128, two norms and a last one; head 256 · 64. So
// a token takes 2 · (16384 + 24576 + 192) FLOPs, its logits 2 · 16384, a pair of tokens 2 · 2 · 64; keys and values of
// a token take 128 bytes.
constexpr double kToken = 2 * (16384 + 24576 + 192), kHead = 2 * 16384, kPair = 256, kCached = 128, kWeights = 1e6;
constexpr double kFast = 1e30;

DecoderLimit limit_at(double flops_per_s, double bytes_per_s, double quota = 1, double cache_bytes = 0) {
  llm::Model model;
  model.hidden = 64;
  model.vocabulary = 256;
  llm::Layers layers;
  layers.count = 1;
  layers.attention.heads = layers.attention.kv_heads = 2;
  layers.attention.head_dim = layers.attention.value_dim = 32;
  layers.feed_forward.intermediate = 128;
  model.layers = {layers};
  cost::DeviceLimits limits;
  limits.flops_per_s = {{Precision::kFp32, flops_per_s}};
  if (cache_bytes > 0) limits.levels = {{"L3", kFast, cache_bytes}};
  limits.levels.push_back({"DRAM", bytes_per_s, std::numeric_limits<double>::infinity()});
  return {model, engine::WeightFormat::kFp32, engine::CacheForm::kU8, static_cast<int64_t>(kWeights), limits, quota};
}

// 10 requests of 100 prompt and 20 output tokens; 50 tokens/s.
client::TokenFigures figures() {
  client::TokenFigures tokens;
  tokens.requests = 10;
  tokens.prompt_tokens = 1000;
  tokens.output_tokens = 200;
  tokens.output_per_s = 50;
  return tokens;
}

measure::Latency mean_of(double ms) {
  measure::Latency latency;
  latency.mean = ms;
  return latency;
}

TEST(TokenLimit, IsThatOfFlopsWhereMemoryIsFast) {
  client::TokenFigures tokens = figures();
  tokens.tpot_ms = mean_of(1e6);  // all in flight decode
  const auto limit = token_limit(limit_at(1e9, kFast), tokens, 4);
  ASSERT_TRUE(limit);
  const double prefill = 100 * kToken + kHead + kPair * 100 * 101 / 2, one = kToken + kHead + kPair * 110;
  EXPECT_NEAR(limit->ttft_ms, prefill / 1e6, 1e-9);
  EXPECT_NEAR(limit->tpot_ms.value(), 4 * one / 1e6, 1e-9);
  EXPECT_NEAR(limit->output_per_s, 20 / ((prefill + 19 * one) / 1e9), 1e-6);
  for (const cost::Limiter limiter : {limit->prefill, limit->decode, limit->load})
    EXPECT_EQ(limiter, cost::Limiter::kCompute);
}

TEST(TokenLimit, IsThatOfWeightsAndCacheWhereArithmeticIsFast) {
  client::TokenFigures tokens = figures();
  tokens.tpot_ms = mean_of(1e6);
  const auto limit = token_limit(limit_at(kFast, 1e9), tokens, 4);
  ASSERT_TRUE(limit);
  EXPECT_NEAR(limit->ttft_ms, kWeights / 1e6, 1e-9);
  EXPECT_NEAR(limit->tpot_ms.value(), (kWeights + 4 * 109 * kCached) / 1e6, 1e-9);
  // 20 tokens of a request share their steps with those of three others.
  EXPECT_NEAR(limit->output_per_s, 20 / ((20 * kWeights / 4 + 19 * 109 * kCached) / 1e9), 1e-6);
  EXPECT_EQ(limit->load, cost::Limiter::kMemory);
}

TEST(TokenLimit, CountsAnswersUnderWayByTheirRateAndTime) {
  client::TokenFigures tokens = figures();
  tokens.ttft_ms = mean_of(10);
  tokens.tpot_ms = mean_of(2000.0 / 47.5);  // of 50 tokens/s those that are not the first of an answer
  const auto limit = token_limit(limit_at(kFast, 1e9), tokens, 4);
  ASSERT_TRUE(limit);
  EXPECT_NEAR(limit->decoding, 2, 1e-9);
  EXPECT_NEAR(limit->tpot_ms.value(), (kWeights + 2 * 109 * kCached) / 1e6, 1e-9);
  EXPECT_NEAR(limit->ttft_percent.value(), 100 * limit->ttft_ms / 10, 1e-9);
  EXPECT_NEAR(limit->tpot_percent.value(), 100 * *limit->tpot_ms / (2000.0 / 47.5), 1e-9);
  tokens.tpot_ms = mean_of(1e6);
  EXPECT_EQ(token_limit(limit_at(kFast, 1e9), tokens, 4)->decoding, 4) << "no more than are in flight";
  tokens.tpot_ms = mean_of(1);
  EXPECT_EQ(token_limit(limit_at(kFast, 1e9), tokens, 4)->decoding, 1);
}

TEST(TokenLimit, OfHalfACpuTakesTwiceAsLong) {
  const auto whole = token_limit(limit_at(1e9, 1e9), figures(), 4),
             half = token_limit(limit_at(1e9, 1e9, 0.5), figures(), 4);
  EXPECT_NEAR(half->ttft_ms, 2 * whole->ttft_ms, 1e-9);
  EXPECT_NEAR(half->output_per_s, whole->output_per_s / 2, 1e-6);
}

// Whatever stays in a cache between steps is read from it in each of them.
TEST(TokenLimit, OfManyStepsHasTheCacheOfTheCpuInEach) {
  const auto limit = token_limit(limit_at(kFast, 1e9, 1, kWeights / 2), figures(), 1);
  EXPECT_NEAR(limit->output_per_s, 1e9 / (kWeights / 2 + 19.0 / 20 * 109 * kCached), 1);
}

TEST(TokenLimit, WithoutTimesOfTokensHasNone) {
  client::TokenFigures tokens = figures();
  tokens.output_tokens = tokens.requests;
  const auto limit = token_limit(limit_at(1e9, 1e9), tokens, 4);
  EXPECT_FALSE(limit->tpot_ms);
  EXPECT_FALSE(limit->tpot_percent);
  EXPECT_GT(limit->output_per_s, 0);
}

TEST(TokenLimit, OfNoAnswerIsNone) { EXPECT_FALSE(token_limit(limit_at(1e9, 1e9), {}, 1)); }

}  // namespace
}  // namespace ridge::llm::cpu
