#include "measure/stop_rule.h"

#include <gtest/gtest.h>

#include <random>

namespace ridge::measure {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(StopRule, GoesOnUntilTheLeastTimeAndNumberAreReached) {
  StopRule rule({.min_samples = 20, .min_time = milliseconds(500)});
  for (int i = 0; i < 19; ++i) rule.add(10);
  EXPECT_EQ(rule.verdict(seconds(1)), Verdict::kContinue);
  rule.add(10);
  EXPECT_EQ(rule.verdict(milliseconds(400)), Verdict::kContinue);
  EXPECT_EQ(rule.verdict(milliseconds(600)), Verdict::kConverged);
}

TEST(StopRule, NoisyLatenciesNeedMoreSamplesThanQuietOnes) {
  auto needed = [](double deviation) {
    std::mt19937_64 random(3);
    std::normal_distribution<double> noise(10, deviation);
    StopRule rule({.min_time = Nanoseconds(0), .max_time = seconds(1000)});
    while (rule.verdict(seconds(1)) == Verdict::kContinue) rule.add(noise(random));
    EXPECT_LE(rule.half_width_percent(), 2);
    return rule.samples().size();
  };
  EXPECT_LT(needed(0.1), 30u);
  EXPECT_GT(needed(2), 300u);  // (2.0 · 20 % / 2 %)² = 400 for independent samples
}

TEST(StopRule, GivesUpWhenTimeIsUp) {
  StopRule rule({.max_time = seconds(5)});
  rule.add(1);
  EXPECT_EQ(rule.verdict(seconds(4)), Verdict::kContinue);
  EXPECT_EQ(rule.verdict(seconds(5)), Verdict::kTimeOut);
}

TEST(StopRule, ADriftIsNotTakenForCertainty) {
  StopRule rule({.min_time = Nanoseconds(0)});
  for (int i = 0; i < 1000; ++i) rule.add(10 + i * 0.005);  // 10 → 15: neighbours agree, the mean moves
  EXPECT_EQ(rule.verdict(seconds(1)), Verdict::kContinue);
}

}  // namespace
}  // namespace ridge::measure
