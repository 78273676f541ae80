// Loads on the fake engine's decoder and a fake clock.
#include "llm/cpu/load.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "base/file.h"
#include "base/temporary_folder.h"

namespace ridge::llm::cpu {
namespace {

constexpr generate::StepLine kLine = {.floor = 0, .fixed = 10e-3, .per_token = 1e-3};

class LanguageLoad : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_file_atomically(folder_.path() + "/decoder.fake.json",
                                      R"({"step_ms":10,"step_ms_per_token":1,"vocabulary":64})"));
    Result<std::unique_ptr<engine::Decoder>> decoder =
        engine::open_decoder({.engine = "fake", .folder = folder_.path()}, clock_);
    ASSERT_TRUE(decoder) << decoder.error().message;
    decoder_ = std::move(*decoder);
    ASSERT_TRUE(decoder_->reserve(64));
    settings_.cache = decoder_->info().cache;
    settings_.blocks = 64;
    settings_.context = 1000;
    settings_.line = kLine;
    settings_.speculate = false;
  }
  TemporaryFolder folder_ = *TemporaryFolder::make();
  FakeClock clock_;
  std::unique_ptr<engine::Decoder> decoder_;
  generate::Settings settings_;
  const std::vector<int32_t> text_ = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
};

TEST_F(LanguageLoad, ClosedSendsTheNextRequestWhenOneIsAnswered) {
  const Load load = {{{0, 20, 3}, {0, 20, 3}}, 1, text_};
  const Result<Served> served = serve(*decoder_, settings_, load, clock_);
  ASSERT_TRUE(served) << served.error().message;
  // 20 tokens take 30 ms, each further one 11 ms; the second request begins with the end of the first.
  ASSERT_EQ(served->answered.size(), 2);
  EXPECT_NEAR(served->answered[0].first_s, 0.030, 1e-9);
  EXPECT_NEAR(served->answered[0].last_s, 0.052, 1e-9);
  EXPECT_NEAR(served->answered[1].sent_s, 0.052, 1e-9);
  EXPECT_NEAR(served->seconds, 0.104, 1e-9);
}

TEST_F(LanguageLoad, OpenSendsRequestsAtTheirTimes) {
  const Load load = {{{0, 20, 1}, {0.5, 20, 1}}, 0, text_};
  const Result<Served> served = serve(*decoder_, settings_, load, clock_);
  ASSERT_TRUE(served) << served.error().message;
  EXPECT_NEAR(served->answered[1].sent_s, 0.5, 1e-9);
  EXPECT_NEAR(served->answered[1].first_s, 0.53, 1e-9);
}

TEST_F(LanguageLoad, ARequestThatIsOnItsWayAsAStepBeginsMissesIt) {
  Load load = {{{0, 20, 5}, {0, 20, 5}, {0, 20, 5}}, 2, text_};
  load.front = from_seconds(1e-3);
  const Result<Served> served = serve(*decoder_, settings_, load, clock_);
  ASSERT_TRUE(served) << served.error().message;
  const double end = std::min(served->answered[0].last_s, served->answered[1].last_s);
  EXPECT_NEAR(served->answered[0].first_s, served->answered[1].first_s, 1e-9);
  EXPECT_NEAR(served->answered[2].sent_s, end, 1e-9);
  load.front = {};
  const Result<Served> at_once = serve(*decoder_, settings_, load, clock_);
  ASSERT_TRUE(at_once);
  EXPECT_NEAR(served->answered[0].first_s, at_once->answered[0].first_s + 1e-3, 1e-9);
}

TEST_F(LanguageLoad, PromptsBeginAlikeAsFarAsAsked) {
  Load load = {{{0, 20, 1}, {0, 20, 1}}, 1, text_};
  settings_.prefix_reuse = true;
  const Result<Served> apart = serve(*decoder_, settings_, load, clock_);
  load.common_share = 0.9;
  const Result<Served> alike = serve(*decoder_, settings_, load, clock_);
  ASSERT_TRUE(apart && alike);
  EXPECT_LT(alike->seconds, apart->seconds);
}

TEST_F(LanguageLoad, IsPredictedByTheLine) {
  const Load load = {{{0, 20, 5}, {0, 30, 5}, {0, 40, 5}, {0, 20, 5}}, 2, text_};
  const Goals goals = {.ttft_ms = 100, .tpot_ms = 12};
  const Result<Served> served = serve(*decoder_, settings_, load, clock_);
  const Result<Served> by_line = predict(settings_, load);
  ASSERT_TRUE(served && by_line);
  const Figures predicted = figures_of({&*by_line, 1}, goals);
  const Figures measured = figures_of({&*served, 1}, goals);
  EXPECT_NEAR(predicted.output_tokens_per_s, measured.output_tokens_per_s, 1e-6 * measured.output_tokens_per_s);
  EXPECT_NEAR(predicted.ttft_ms.p99, measured.ttft_ms.p99, 1e-3);
  EXPECT_EQ(predicted.goodput_per_s, measured.goodput_per_s);
  EXPECT_NEAR(measured.output_tokens_per_s, 20 / served->seconds, 1e-9);
}

TEST_F(LanguageLoad, GoodputCountsTheRequestsWithinAllGoals) {
  const Served served = {{{0, 0.1, 0.3, 3}, {0, 0.3, 0.5, 3}, {0, 0.1, 0.5, 3}}, 2};
  EXPECT_EQ(figures_of({&served, 1}, {}).goodput_per_s, std::nullopt);
  EXPECT_EQ(figures_of({&served, 1}, {.ttft_ms = 200, .tpot_ms = {}}).goodput_per_s, 1);
  EXPECT_EQ(figures_of({&served, 1}, {.ttft_ms = 200, .tpot_ms = 150}).goodput_per_s, 0.5);
}

}  // namespace
}  // namespace ridge::llm::cpu
