#include "llm/cpu/step_estimate.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "llm/cpu/kept_steps.h"

namespace ridge::llm::cpu {
namespace {

// One layer of width 64 with 2 heads of 32, 1 of keys and values, a network of 128, vocabulary 256.
llm::Model one_layer() {
  llm::Model model;
  model.hidden = 64;
  model.vocabulary = 256;
  llm::Layers layers;
  layers.count = 1;
  layers.attention = {.heads = 2, .kv_heads = 1, .head_dim = 32, .value_dim = 32};
  layers.feed_forward.intermediate = 128;
  model.layers = {layers};
  return model;
}

TEST(StepEstimate, IsTheLimitsOverTheSharesOfThemThatDecodersReach) {
  cost::DeviceLimits limits;
  limits.flops_per_s = {{Precision::kBf16, 1e9}};
  limits.levels = {{"DRAM", 1e8, std::numeric_limits<double>::infinity()}};
  const DecoderLimit limit(one_layer(), engine::WeightFormat::kBf16, engine::CacheForm::kU8, 1'000'000, limits, 1);
  const generate::StepLine line = estimated_line(limit, engine::WeightFormat::kBf16);
  const generate::StepLine no_shares = [&] {  // by hand: matrices 2 · 4096 + 2 · 2048 + 3 · 8192, norms 2 · 64 and 64
    const double token = 2 * (2 * 4096 + 2 * 2048 + 3 * 8192 + 2 * 64 + 64), row = 2 * 256 * 64;
    return generate::StepLine{.fixed = 1e6 / 1e8,
                              .per_token = (token + 4 * 64) / 1e9,  // a token attends to itself
                              .per_cached = 2 * 32 / 1e8,           // keys and values of one head, 8 bits
                              .per_pair = 4 * 64 / 1e9,
                              .per_row = row / 1e9};
  }();
  const double compute = no_shares.per_token / line.per_token;
  EXPECT_GT(compute, 0.3);
  EXPECT_LT(compute, 1);
  EXPECT_NEAR(no_shares.per_row / line.per_row, compute, 1e-9);
  EXPECT_NEAR(no_shares.per_pair / line.per_pair, compute, 1e-9);
  EXPECT_GT(line.fixed, no_shares.fixed);
  EXPECT_LT(line.fixed, 3 * no_shares.fixed);
  EXPECT_GT(line.per_cached, no_shares.per_cached);
  EXPECT_EQ(line.floor, 0);
  // A quota of half a CPU: all takes twice as long.
  const DecoderLimit half(one_layer(), engine::WeightFormat::kBf16, engine::CacheForm::kU8, 1'000'000, limits, 0.5);
  const generate::StepLoad load{10, 1000, 500, 2};
  EXPECT_NEAR(estimated_line(half, engine::WeightFormat::kBf16).seconds(load), 2 * line.seconds(load), 1e-9);
}

TEST(KeptSteps, AreReadBackAndADamagedFileIsNone) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string file = folder.path() + "/machine/steps.json";
  EXPECT_FALSE(recall_steps(file));
  KeptSteps kept{"m", "1.2", "2026-11-26T12:00:00Z", 5000, {.fixed = 1e-3, .per_token = 2e-3, .per_row = 3e-4}, 7.5};
  ASSERT_TRUE(keep_steps(kept, file));
  const std::optional<KeptSteps> read = recall_steps(file);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->weight_bytes, 5000);
  EXPECT_EQ(read->line.per_row, 3e-4);
  EXPECT_EQ(read->error_percent, 7.5);
  ASSERT_TRUE(write_file_atomically(file, "{\"step_line\": 1}"));
  EXPECT_FALSE(recall_steps(file));
}

}  // namespace
}  // namespace ridge::llm::cpu
