#include "generate/step_line.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace ridge::generate {
namespace {

constexpr StepLine kLine{
    .floor = 5.7e-3, .fixed = 4e-3, .per_token = 0.44e-3, .per_cached = 1.5e-7, .per_pair = 3e-8, .per_row = 0.1e-3};

double noise(uint64_t n) { return static_cast<double>(split_mix(n * kGoldenGamma) >> 11) * 0x1p-53 * 2 - 1; }

StepPoint point(const StepLine& line, const StepLoad& load, double disturbance = 0) {
  return {load, line.seconds(load) * (1 + disturbance)};
}

// 4 + 10 · 0.44 + 5000 · 0.00015 + 2000 · 0.00003 + 3 · 0.1 = 9.51
TEST(StepLine, AddsUpItsTermsButIsNeverBelowTheFloor) {
  StepLoad load{10, 5000, 2000, 3};
  EXPECT_NEAR(kLine.seconds(load), 9.51e-3, 1e-12);
  EXPECT_NEAR(kLine.added(load), 5.51e-3, 1e-12);
  EXPECT_EQ(kLine.seconds({1, 0, 0, 1}), 5.7e-3);
  // 4 new tokens of one sequence that read 100: pairs (4 − 1) · (100 + 2), one row.
  load.add(4, 100);
  EXPECT_EQ(load.tokens, 14);
  EXPECT_EQ(load.cached, 5100);
  EXPECT_EQ(load.pairs, 2306);
  EXPECT_EQ(load.rows, 4);
}

TEST(StepLine, FitFindsFloorAndLine) {
  std::vector<StepPoint> points;
  uint64_t n = 0;
  for (const double tokens : {1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512}) {
    for (const double past : {0.0, 512.0, 4096.0})
      points.push_back(point(kLine, {tokens, past * tokens, 0, tokens}, 0.005 * noise(++n)));
    points.push_back(point(kLine, {tokens, 2048, (tokens - 1) * (2048 + tokens / 2), 1}, 0.005 * noise(++n)));
  }
  const StepLine line = fit(points);
  EXPECT_NEAR(line.per_token, kLine.per_token, 0.03 * kLine.per_token);
  EXPECT_NEAR(line.floor, kLine.floor, 0.03 * kLine.floor);
  EXPECT_NEAR(line.per_cached, kLine.per_cached, 0.1 * kLine.per_cached);
  EXPECT_NEAR(line.per_pair, kLine.per_pair, 0.2 * kLine.per_pair);
  EXPECT_NEAR(line.per_row, kLine.per_row, 0.2 * kLine.per_row);
  for (const StepPoint& each : points) EXPECT_NEAR(line.seconds(each.load), each.seconds, 0.05 * each.seconds);
}

TEST(StepLine, FitHasNoNegativeCoefficients) {
  // Falls with the cached tokens, as a disturbed measurement may.
  const StepLine line =
      fit(std::vector<StepPoint>{{{1}, 0.010}, {{10}, 0.020}, {{1, 1000}, 0.008}, {{10, 1000}, 0.018}, {{20}, 0.03}});
  EXPECT_EQ(line.per_cached, 0);
  EXPECT_GE(line.fixed, 0);
  EXPECT_NEAR(line.per_token, 1.1e-3, 2e-4);
}

// Measured while the machine was busy: the pairs explain 16 tokens best.
TEST(StepLine, FitOfAFewDisturbedPointsDoesNotGrowWithTheSquareOfTheTokens) {
  const StepLine line = fit(std::vector<StepPoint>{
      {{1, 0, 0, 1}, 0.0618}, {{4, 0, 6, 1}, 0.0648}, {{16, 0, 120, 1}, 0.1211}, {{1, 16, 0, 1}, 0.0919}});
  EXPECT_TRUE(line.known());
  EXPECT_LT(line.seconds({512, 0, 511 * 256, 1}), 5);
}

TEST(StepLine, TokensWithinIsTheInverseOfSeconds) {
  for (const double seconds : {7e-3, 20e-3, 50e-3, 1.0}) {
    for (const double past : {0.0, 100.0, 8000.0}) {
      StepLoad load{3, 3000, 0};
      load.add(kLine.tokens_within(seconds, load, past), past);
      EXPECT_NEAR(kLine.seconds(load), seconds, 1e-9) << past;
    }
  }
  // No step is shorter than the floor, so what fits below it is free.
  EXPECT_NEAR(kLine.tokens_within(1e-3, {}, 0), 1.6 / 0.44, 0.01);
  EXPECT_EQ((StepLine{0, 1e-3, 1e-3, 0, 0}).tokens_within(0, StepLoad{4, 0, 0}, 0), 0);
}

// Prefill beside decodes, then decodes alone, over and over.
StepPoint step_of(const StepLine& truth, uint64_t n, double spread) {
  const double decodes = 4 + static_cast<double>(n % 13);
  const double chunk = n % 3 == 0 ? 0 : 20.0 * static_cast<double>(n % 5);
  return point(truth, {decodes + chunk, 700 * decodes, chunk * chunk / 2, decodes + 1}, spread * noise(n));
}

double worst_error(const StepLine& line, const StepLine& truth) {
  double worst = 0;
  for (uint64_t n = 0; n < 60; ++n) {
    const StepPoint exact = step_of(truth, n, 0);
    worst = std::max(worst, std::abs(line.seconds(exact.load) / exact.seconds - 1));
  }
  return worst;
}

TEST(RefinedLine, FollowsAMachineThatBecomesSlower) {
  StepLine slower = kLine;
  slower.fixed *= 1.3;
  slower.per_token *= 1.6;
  RefinedLine refined(kLine);
  for (uint64_t n = 0; n < 600; ++n) refined.add(step_of(slower, n, 0.03));
  EXPECT_LT(worst_error(refined.line(), slower), 0.05);
}

TEST(RefinedLine, ADisturbedStepMovesItLittle) {
  RefinedLine refined(kLine);
  for (uint64_t n = 0; n < 200; ++n) refined.add(step_of(kLine, n, 0.03));
  const StepLine before = refined.line();
  StepPoint disturbed = step_of(kLine, 200, 0);
  disturbed.seconds *= 30;
  refined.add(disturbed);
  EXPECT_LT(worst_error(refined.line(), before), 0.03);
}

TEST(RefinedLine, DecodesAloneDoNotMoveWhatTheyDoNotShow) {
  RefinedLine refined(kLine);
  for (uint64_t n = 0; n < 5000; ++n) refined.add(point(kLine, {16, 16 * 700, 0, 16}, 0.03 * noise(n)));
  const StepLoad load{300, 0, 45000, 1};
  EXPECT_NEAR(refined.line().seconds(load), kLine.seconds(load), 0.05 * kLine.seconds(load));
}

TEST(RefinedLine, TheFloorFollowsToo) {
  RefinedLine refined(kLine);
  StepLine slower = kLine;
  slower.floor *= 1.5;
  for (uint64_t n = 0; n < 200; ++n) refined.add(point(slower, {1, 100}, 0.02 * noise(n)));
  EXPECT_NEAR(refined.line().seconds({1, 100}), slower.floor, 0.05 * slower.floor);
}

TEST(RefinedLine, BeginsWithoutALine) {
  RefinedLine refined(StepLine{});
  for (uint64_t n = 0; n < 12; ++n) refined.add(step_of(kLine, n, 0.01));
  EXPECT_FALSE(refined.line().known());
  for (uint64_t n = 12; n < 300; ++n) refined.add(step_of(kLine, n, 0.01));
  EXPECT_TRUE(refined.line().known());
  EXPECT_LT(worst_error(refined.line(), kLine), 0.05);
}

}  // namespace
}  // namespace ridge::generate
