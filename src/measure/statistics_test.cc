#include "measure/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace ridge::measure {
namespace {

TEST(Statistics, MeanAndDeviationOfAWorkedExample) {
  std::vector<double> values = {2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_DOUBLE_EQ(mean(values), 5);
  EXPECT_NEAR(standard_deviation(values), std::sqrt(32.0 / 7), 1e-12);
}

TEST(Statistics, PercentilesInterpolateBetweenRanks) {
  std::vector<double> sorted = {15, 20, 35, 40, 50};  // numpy.percentile gives the same
  EXPECT_DOUBLE_EQ(percentile(sorted, 0), 15);
  EXPECT_DOUBLE_EQ(percentile(sorted, 40), 29);
  EXPECT_DOUBLE_EQ(percentile(sorted, 50), 35);
  EXPECT_DOUBLE_EQ(percentile(sorted, 99), 49.6);
  EXPECT_DOUBLE_EQ(percentile(sorted, 100), 50);
  EXPECT_DOUBLE_EQ(percentile(std::vector<double>{7}, 99), 7);
}

TEST(Statistics, StudentTAgreesWithItsTables) {
  EXPECT_NEAR(student_t(0.975, 1), 12.706, 1e-3);
  EXPECT_NEAR(student_t(0.975, 4), 2.776, 1e-3);
  EXPECT_NEAR(student_t(0.975, 9), 2.262, 1e-3);
  EXPECT_NEAR(student_t(0.975, 30), 2.042, 1e-3);
  EXPECT_NEAR(student_t(0.995, 9), 3.250, 1e-3);
  EXPECT_NEAR(student_t(0.975, 1e6), 1.960, 1e-3);
}

TEST(Statistics, HalfWidthOfAWorkedExample) {
  // t(0.975, 4) · 1.5811 / √5 = 2.7764 · 0.70711
  EXPECT_NEAR(half_width(std::vector<double>{1, 2, 3, 4, 5}, 0.95), 1.9632, 1e-4);
  EXPECT_TRUE(std::isinf(half_width(std::vector<double>{1}, 0.95)));
}

// Three rates of mean 5 and deviation 4.58: 4.303 · 4.58 / √3 = 11.4 to either side.
TEST(Statistics, TheIntervalOfARateStartsAtZeroAtLeast) {
  const std::vector<double> rates = {1, 4, 10};
  EXPECT_EQ(mean_rate_interval(rates).low, 0);
  EXPECT_NEAR(*mean_rate_interval(rates).high, 16.38, 0.01);
  EXPECT_TRUE(mean_rate_interval(std::vector<double>{3}).empty());
}

TEST(RateInterval, IsThatOfTheMeanLatency) {
  EXPECT_NEAR(*rate_interval(100, 25).low, 80, 1e-9);
  EXPECT_NEAR(*rate_interval(100, 25).high, 400 / 3.0, 1e-9);
  EXPECT_TRUE(rate_interval(100, std::numeric_limits<double>::infinity()).empty());
}

TEST(Statistics, LatencySummaryIsInOrder) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  Latency latency = latency_of(values);
  EXPECT_DOUBLE_EQ(latency.mean, 50.5);
  EXPECT_DOUBLE_EQ(latency.p50, 50.5);
  EXPECT_NEAR(latency.p99, 99.01, 1e-9);
  EXPECT_DOUBLE_EQ(latency.min, 1);
  EXPECT_DOUBLE_EQ(latency.max, 100);
  EXPECT_DOUBLE_EQ(latency_of({}).p50, 0);
}

// Autocorrelated latencies: x ← 0.9 x + noise, about 10.
std::vector<double> correlated(std::mt19937_64& random, int count) {
  std::normal_distribution<double> noise(0, 1);
  std::vector<double> values;
  double x = noise(random) / std::sqrt(1 - 0.81);
  for (int i = 0; i < count; ++i) {
    x = 0.9 * x + noise(random);
    values.push_back(10 + x);
  }
  return values;
}

TEST(Statistics, TheIntervalHoldsTheTrueMeanAlsoWhenLatenciesAreCorrelated) {
  std::mt19937_64 random(7);
  constexpr int kTrials = 400;
  int held = 0, held_as_independent = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values = correlated(random, 2000);
    double error = std::abs(mean(values) - 10);
    held += error <= half_width_in_time(values, 0.95);
    held_as_independent += error <= half_width(values, 0.95);
  }
  EXPECT_GE(held, kTrials * 9 / 10);                 // 95 % wanted; batches of 200 are still slightly correlated
  EXPECT_LT(held_as_independent, kTrials * 6 / 10);  // the plain formula's 95 % interval
}

// Low and high in turn, so that every stretch has as many below any percentile: the values count as independent.
std::vector<double> spread_evenly(int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(i % 2 == 0 ? i / 2 + 1 : count - i / 2);
  return values;
}

// Ranks 6 and 15 of 20: 100 · P(6 ≤ B(20, 0.5) < 15) = 95.86 %, the table of the median's interval in textbooks.
TEST(PercentileInterval, OfIndependentValuesIsBetweenTheTablesOrderStatistics) {
  const Interval median = percentile_interval(spread_evenly(20), 50);
  EXPECT_EQ(median.low, 6);
  EXPECT_EQ(median.high, 15);
}

// 0.99ⁿ is 2.5 % at n = 367: with fewer values the largest may be below the 99th percentile.
TEST(PercentileInterval, ASideBeyondAllValuesIsNotKnown) {
  const std::vector<double> few(300, 5.0), enough(400, 5.0);
  EXPECT_EQ(percentile_interval(few, 99).low, 5);
  EXPECT_FALSE(percentile_interval(few, 99).high);
  EXPECT_EQ(percentile_interval(enough, 99).high, 5);
  EXPECT_TRUE(percentile_interval(std::vector<double>{5.0}, 50).empty());
  EXPECT_TRUE(percentile_interval({}, 99).empty());
}

struct Coverage {
  double percent, quantile;  // of the standard normal distribution
};
TEST(PercentileInterval, HoldsTheTruePercentileAlsoWhenLatenciesAreCorrelated) {
  constexpr int kTrials = 300;
  constexpr double kDeviation = 2.294157;  // of x ← 0.9 x + noise: 1/√(1 − 0.81)
  for (const auto [percent, quantile] : {Coverage{50, 0}, Coverage{90, 1.281552}, Coverage{99, 2.326348}}) {
    std::mt19937_64 random(11);
    int held = 0;
    double width = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const Interval interval = percentile_interval(correlated(random, 4000), percent);
      const double truth = 10 + kDeviation * quantile;
      held += interval.low && *interval.low <= truth && (!interval.high || truth <= *interval.high);
      if (interval.high) width += (*interval.high - *interval.low) / kTrials;
    }
    EXPECT_GE(held, kTrials * 9 / 10) << percent;
    EXPECT_LT(width, 2 * kDeviation) << percent << ": an interval of everything holds the truth too";
  }
}

// A worked example: standard error 0.57591 with 2.37725 degrees of freedom, whose t of 97.5 % is 3.71024 by integrating
// the density numerically.
TEST(MeanDifference, IsWelchsInterval) {
  const std::vector<double> before = {20.1, 19.6, 20.4, 19.9}, after = {22.0, 21.2, 23.1};
  const MeanDifference difference = mean_difference(before, after, 0.95);
  EXPECT_NEAR(difference.value, 2.1, 1e-12);
  EXPECT_NEAR(difference.half_width, 2.136745, 1e-5);
  EXPECT_EQ(mean_difference(before, before, 0.95).value, 0);
  EXPECT_TRUE(std::isinf(mean_difference(before, std::vector<double>{1}, 0.95).half_width));
  EXPECT_EQ(mean_difference(std::vector<double>{1, 1}, std::vector<double>{3, 3}, 0.95).half_width, 0);
}

}  // namespace
}  // namespace ridge::measure
