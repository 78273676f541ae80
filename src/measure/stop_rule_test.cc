#include "measure/stop_rule.h"

#include <gtest/gtest.h>

#include <random>

#include "measure/statistics.h"

namespace ridge::measure {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

double exact() { return 0; }
double unknown() { return std::numeric_limits<double>::infinity(); }

TEST(StopRule, GoesOnUntilTheLeastTimeAndNumberAreReached) {
  StopRule rule({.min_samples = 20, .min_time = milliseconds(500)});
  EXPECT_EQ(rule.verdict(19, seconds(1), exact), Verdict::kContinue);
  EXPECT_EQ(rule.verdict(20, milliseconds(499), exact), Verdict::kContinue);
  EXPECT_EQ(rule.verdict(20, milliseconds(500), exact), Verdict::kConverged);
}

TEST(StopRule, LooksEachTimeTheNumberHasGrownByATenth) {
  StopRule rule({.min_samples = 100, .min_time = Nanoseconds(0)});
  std::vector<int64_t> looks;
  for (int64_t samples = 90; samples < 150; ++samples)
    rule.verdict(samples, Nanoseconds(0), [&] { return looks.push_back(samples), 100.0; });
  EXPECT_EQ(looks, (std::vector<int64_t>{100, 110, 121, 133, 146}));
}

TEST(StopRule, GivesUpWhenTimeIsUp) {
  StopRule rule({.max_time = seconds(5)});
  EXPECT_EQ(rule.verdict(1000, milliseconds(4999), unknown), Verdict::kContinue);
  EXPECT_EQ(rule.verdict(1000, seconds(5), unknown), Verdict::kSpent);
}

TEST(StopRule, SomeSamplesAreTakenEvenIfTheTimeIsOver) {
  StopRule rule({.half_width_percent = 0, .sure_samples = 2, .max_samples = 4, .max_time = seconds(5)});
  EXPECT_EQ(rule.verdict(1, seconds(60), exact), Verdict::kContinue);
  EXPECT_EQ(rule.verdict(2, seconds(60), exact), Verdict::kSpent);
  EXPECT_EQ(rule.verdict(3, seconds(1), exact), Verdict::kContinue) << "no interval is asked for";
  EXPECT_EQ(rule.verdict(4, seconds(1), exact), Verdict::kSpent);
}

int64_t samples_needed(double deviation) {
  StopRule rule({.min_time = Nanoseconds(0), .max_time = seconds(1000)});
  std::mt19937_64 random(3);
  std::normal_distribution<double> latency(10, deviation);
  std::vector<double> latencies_ms;
  do latencies_ms.push_back(latency(random));
  while (rule.verdict(static_cast<int64_t>(latencies_ms.size()), seconds(1),
                      [&] { return half_width_percent(latencies_ms, 0.95); }) == Verdict::kContinue);
  return static_cast<int64_t>(latencies_ms.size());
}

TEST(StopRule, NoisyLatenciesNeedMoreSamplesThanQuietOnes) {
  EXPECT_LT(samples_needed(0.1), 30);
  EXPECT_GT(samples_needed(2), 300) << "(2.0 · 20 % / 2 %)² = 400 for independent samples";
}

TEST(StopRule, ADriftIsNotTakenForCertainty) {
  StopRule rule({.min_time = Nanoseconds(0)});
  std::vector<double> latencies_ms;
  for (int i = 0; i < 1000; ++i) latencies_ms.push_back(10 + i * 0.005);
  EXPECT_LT(100 * half_width(latencies_ms, 0.95) / mean(latencies_ms), 2) << "of independent ones";
  EXPECT_EQ(rule.verdict(1000, seconds(1), [&] { return half_width_percent(latencies_ms, 0.95); }), Verdict::kContinue);
}

}  // namespace
}  // namespace ridge::measure
