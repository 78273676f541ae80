// Published models as worked examples; each figure names its publisher.
#include "llm/forecast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "checkpoint/config.h"
#include "llm/model.h"

namespace ridge::llm {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr double kKib = 1024, kGib = 1024.0 * 1024 * 1024;

// Dimensions: the vendors' published config.json files.
Model of_flags(const char* flags) { return checkpoint::config_from_flags(flags)->model; }
Model llama2_7b() {
  return of_flags("layers=32,heads=32,hidden=4096,intermediate=11008,vocabulary=32000,context=4096");
}
Model llama3_8b() {
  return of_flags("layers=32,heads=32,kv-heads=8,hidden=4096,intermediate=14336,vocabulary=128256,context=8192");
}
Model mixtral_8x7b() {
  return of_flags(
      "layers=32,heads=32,kv-heads=8,hidden=4096,intermediate=14336,vocabulary=32000,experts=8,experts-per-token=2,"
      "context=32768");
}

// 100 TFLOP/s, 1 TB/s.
cost::DeviceLimits device_limits() {
  cost::DeviceLimits limits;
  limits.device = "gpu";
  limits.flops_per_s = {{Precision::kFp16, 1e14}};
  limits.levels = {{"DRAM", 1e12, INFINITY}};
  limits.origin = Origin::kDatasheet;
  return limits;
}

ForecastSetup setup_in(const char* weights = "fp16") {
  ForecastSetup setup;
  setup.weights = *storage(weights);
  return setup;
}

Forecast forecast_of(const Model& model, const ForecastSetup& setup, const cost::DeviceLimits& limits) {
  return forecast(model, parameters_of(model), setup, limits);
}

TEST(LlmCache, IsTwiceLayersTimesHeadsTimesBytes) {
  // 2 · 32 · 32 · 128 · 2 bytes = 512 KiB; with 8 heads of keys and values a quarter (Ainslie et al., 2023,
  // arXiv:2305.13245). vLLM's 5691 blocks of 16 tokens in 11.12 GiB for Llama-3-8B (vllm issue 12330) give 131.1 kB per
  // token.
  EXPECT_DOUBLE_EQ(forecast_of(llama2_7b(), setup_in(), device_limits()).kv_bytes_per_token, 512 * kKib);
  double llama3 = forecast_of(llama3_8b(), setup_in(), device_limits()).kv_bytes_per_token;
  EXPECT_DOUBLE_EQ(llama3, 128 * kKib);
  EXPECT_NEAR(llama3, 11.12 * kGib / (5691 * 16), 0.001 * llama3);
}

TEST(LlmWeights, FollowTheirFormat) {
  // vllm issue 12330: Llama-3-8B in 16 bits took 14.9595 GiB when loaded.
  EXPECT_NEAR(weight_bytes(parameters_of(llama3_8b()), *storage("bf16")) / kGib, 14.9595, 0.005);
  // By hand, 4-bit matrices in groups of 128: 32 · (4 · 4096² + 3 · 4096 · 11008) · 4.15625 / 8, the other 262 410 240
  // in 16 bits: 3.889 GB.
  double matrices = 32.0 * (4 * 4096.0 * 4096 + 3 * 4096.0 * 11008);
  double by_hand = matrices * 4.15625 / 8 + (6738415616.0 - matrices) * 2;
  EXPECT_DOUBLE_EQ(weight_bytes(parameters_of(llama2_7b()), *storage("int4")), by_hand);
  EXPECT_NEAR(by_hand, 3.889e9, 0.001e9);
  auto unknown = storage("int3");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("int4"));
}

TEST(LlmMemory, SequencesFillWhatTheWeightsAndTheReserveLeave) {
  ForecastSetup setup = setup_in();
  setup.memory_bytes = 24 * kGib;
  setup.context = 4096;
  // 24 · 0.9 − 12.55 GiB of weights = 9.05 GiB; 2 GiB per sequence.
  Forecast f = forecast_of(llama2_7b(), setup, device_limits());
  EXPECT_DOUBLE_EQ(f.kv_bytes_per_sequence, 2 * kGib);
  EXPECT_EQ(f.sequences, 4);
  EXPECT_TRUE(f.fits);
  setup.memory_bytes = 8 * kGib;
  f = forecast_of(llama2_7b(), setup, device_limits());
  EXPECT_FALSE(f.fits);
  EXPECT_EQ(f.sequences, 0);
  EXPECT_EQ(f.devices_for_weights, 3);  // (12.55 + 2) / 7.2
}

TEST(DecodeStep, ReadsWeightsAndCacheOncePerStep) {
  ForecastSetup setup = setup_in();
  setup.context = 1024;
  setup.batches = {1, 8};
  Forecast f = forecast_of(llama2_7b(), setup, device_limits());
  // All but the embedding table, 2 bytes each, and 1024 tokens of 512 KiB; at 1 TB/s.
  double weights = 2 * (6738415616.0 - 32000 * 4096.0);
  EXPECT_DOUBLE_EQ(f.decode[0].bytes, weights + 1024 * 512 * kKib);
  EXPECT_NEAR(f.decode[0].bound.ms, 1e3 * f.decode[0].bytes / 1e12, 1e-9);
  EXPECT_EQ(f.decode[0].bound.limiter, cost::Limiter::kMemory);
  EXPECT_DOUBLE_EQ(f.decode[1].bytes, weights + 8 * 1024 * 512 * kKib);
  EXPECT_GT(f.decode[1].tokens_per_s, 6 * f.decode[0].tokens_per_s);
}

TEST(DecodeStep, TouchesMoreExpertsWithMoreSequences) {
  ForecastSetup setup = setup_in();
  setup.context = 1;
  setup.batches = {1, 4, 1000};
  Forecast f = forecast_of(mixtral_8x7b(), setup, device_limits());
  double expert = 2.0 * 32 * 3 * 4096.0 * 14336, token = f.kv_bytes_per_token;
  double without = f.decode[0].bytes - token - 2 * expert;  // one token: two of eight experts
  EXPECT_GT(without, 0);
  // By hand, popularity of shape 1.5: 8 · (1 − (3/4) · (1 + 3 · 2/(8 · 1.5))^−1.5) = 4.73, below 8 · (1 − (3/4)^4) =
  // 5.47 of an even choice.
  EXPECT_NEAR((f.decode[1].bytes - 4 * token - without) / expert, 4.734, 1e-2);
  EXPECT_NEAR((f.decode[2].bytes - 1000 * token - without) / expert, 8, 1e-2);
}

TEST(LlmPrefill, IsBoundByArithmetic) {
  ForecastSetup setup = setup_in();
  setup.prompt = 2048;
  Forecast f = forecast_of(llama2_7b(), setup, device_limits());
  // By hand: 2 · 6 476 271 616 per token, the head once, and 4 · 32 · 4096 per pair of 2048 · 2049 / 2.
  double by_hand = 2 * 6476271616.0 * 2048 + 2 * 32000 * 4096.0 + 4.0 * 32 * 4096 * 2048 * 2049 / 2;
  EXPECT_DOUBLE_EQ(f.prefill_flops, by_hand);
  EXPECT_EQ(f.prefill.limiter, cost::Limiter::kCompute);
  EXPECT_NEAR(f.prefill.ms, 1e3 * by_hand / 1e14, 1e-6);
}

TEST(LlmMemory, ACacheWithAWindowStopsGrowing) {
  Model model = llama2_7b();
  model.layers.push_back(model.layers.front());
  model.layers.front().count = model.layers.back().count = 16;
  model.layers.front().attention.kind = AttentionKind::kWindow;
  model.layers.front().attention.window = 1024;
  ForecastSetup setup = setup_in();
  setup.context = 4096;
  const Forecast f = forecast_of(model, setup, device_limits());
  // 16 KiB per layer and token: 16 layers of 4096 tokens, 16 of 1024.
  EXPECT_DOUBLE_EQ(f.kv_bytes_per_token, 32 * 16 * kKib);
  EXPECT_DOUBLE_EQ(f.kv_bytes_per_sequence, 16 * kKib * 16 * (4096 + 1024));
}

TEST(Forecast, SaysWhenTheContextIsTooLong) {
  ForecastSetup setup = setup_in();
  setup.context = 100000;
  EXPECT_THAT(forecast_of(llama2_7b(), setup, device_limits()).notes, Contains(HasSubstr("4096")));
}

TEST(Forecast, WhereTheMemoryIsNotKnownTheJsonSaysNullAndNotNoSequences) {
  ForecastSetup setup = setup_in();
  const Json unknown = json_of(forecast_of(llama2_7b(), setup, device_limits()));
  EXPECT_TRUE(unknown["sequences"].is_null());
  EXPECT_TRUE(unknown["device"]["memory_bytes"].is_null());
  setup.memory_bytes = 8 * kGib;
  const Json small = json_of(forecast_of(llama2_7b(), setup, device_limits()));
  EXPECT_EQ(small["sequences"], 0);
  EXPECT_EQ(small["devices_for_weights"], 3);
}

}  // namespace
}  // namespace ridge::llm
