#include "tune/language/deviation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tune/language/tuning.h"

namespace ridge::tune::language {
namespace {

// Gives every position the same row.
class ConstantDecoder final : public engine::Decoder {
 public:
  explicit ConstantDecoder(std::vector<float> row) : row_(std::move(row)) {
    info_.vocabulary = static_cast<int64_t>(row_.size());
    info_.context = 1000;
    info_.cache = {16, 1};
  }
  const engine::DecoderInfo& info() const override { return info_; }
  Status reserve(int64_t) override { return {}; }
  Result<engine::Logits> step(std::span<const engine::StepSequence> sequences) override {
    logits_.clear();
    for (int64_t i = 0; i < sequences[0].samples; ++i) logits_.insert(logits_.end(), row_.begin(), row_.end());
    return engine::Logits{logits_, sequences[0].samples};
  }

 private:
  std::vector<float> row_, logits_;
  engine::DecoderInfo info_;
};

TEST(TextDeviation, IsThatOfAWorkedExample) {
  const Windows windows = {{0, 1, 0}};
  ConstantDecoder even({0, 0}), odd({std::log(3.0F) + 7, 7});  // ½ ½, and ¾ ¼: adding a constant changes nothing
  const Result<Reference> reference = reference_of(even, windows);
  ASSERT_TRUE(reference);
  EXPECT_NEAR(reference->perplexity, 2, 1e-6);
  const Result<Deviation> d = deviation_of(odd, windows, *reference);
  ASSERT_TRUE(d);
  EXPECT_EQ(d->tokens, 2);
  EXPECT_NEAR(d->kl_mean, 0.5 * std::log(4.0 / 3), 1e-6);  // ½ ln(½ ÷ ¾) + ½ ln(½ ÷ ¼)
  EXPECT_NEAR(d->logit_max, std::log(2.0), 1e-6);
  EXPECT_NEAR(d->perplexity, 4 / std::sqrt(3.0), 1e-6);  // next tokens 1 and 0: √(4 · 4/3)
  EXPECT_EQ(d->top1, 1);
}

TEST(TextDeviation, IsNothingOfTheSameModelReadInPieces) {
  std::vector<int32_t> text(100);
  std::iota(text.begin(), text.end(), 0);
  const Windows windows = windows_of(text, 100, 50);
  ASSERT_EQ(windows.size(), 2);
  EXPECT_EQ(windows[1].front(), 50);
  auto decoder = engine::open_decoder({.engine = "fake"});
  ASSERT_TRUE(decoder);
  const Result<Reference> reference = reference_of(**decoder, windows);
  ASSERT_TRUE(reference);
  const Result<Deviation> d = deviation_of(**decoder, windows, *reference);
  ASSERT_TRUE(d);
  EXPECT_EQ(d->tokens, 98);
  EXPECT_LT(d->kl_max, 1e-5);
  EXPECT_EQ(judge(*d, {}), "");
}

TEST(TextDeviation, IsRejectedWithItsNumber) {
  Deviation d;
  d.perplexity = d.perplexity_ratio = 1.2;
  EXPECT_NE(judge(d, {}).find("1.2"), std::string::npos);
  EXPECT_EQ(judge(d, {.perplexity_ratio = 1.3}), "");
  d.kl_mean = 0.25;
  EXPECT_NE(judge(d, {.perplexity_ratio = 1.3}).find("0.25"), std::string::npos);
  d.kl_mean = std::nan("");
  EXPECT_FALSE(judge(d, {}).empty());
}

TEST(LanguageAdvantage, IsOfTheMeansWithTheIntervalOfTheDifferences) {
  const double candidate[] = {2, 4, 6}, baseline[] = {1, 2, 3}, none[] = {0, 0, 0};
  const std::optional<Advantage> gain = advantage_of(candidate, baseline);
  ASSERT_TRUE(gain);
  EXPECT_NEAR(gain->ratio, 2, 1e-12);
  EXPECT_NEAR(*gain->ci95.high, 2 + 4.303 / std::sqrt(3.0) / 2, 1e-3);  // t of 2 degrees · deviation 1 / √3, of 2
  EXPECT_FALSE(advantage_of(candidate, none));
}

}  // namespace
}  // namespace ridge::tune::language
