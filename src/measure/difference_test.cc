// How often equal processes are called different, and whether different ones are found, by simulation with fixed seeds.
#include "measure/difference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace ridge::measure {
namespace {

// Latencies whose logarithms follow an autoregressive process: skewed as latencies are, and correlated with their
// neighbours.
Measurement simulated(uint64_t seed, double median_ms, double correlation, size_t samples = 2000) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> step(0, std::sqrt(1 - correlation * correlation));
  std::vector<double> latencies(samples);
  double state = std::normal_distribution<double>()(random);
  for (double& latency : latencies) {
    state = correlation * state + step(random);
    latency = median_ms * std::exp(0.2 * state);
  }
  Measurement m;
  m.samples = static_cast<int64_t>(samples);
  m.latency_ms = latency_of(latencies);
  m.ci95_percent = half_width_percent(latencies, 0.95);
  m.histogram = histogram_of(latencies);
  return m;
}

bool differ(const MeanDifference& difference) { return std::abs(difference.value) > difference.half_width; }

// Results of 400 pairs.
struct Found {
  int mean = 0, median = 0, p99 = 0;
};
Found found(double slower, double correlation, double confidence) {
  Found found;
  for (uint64_t pair = 0; pair < 400; ++pair) {
    const Measurement before = simulated(2 * pair, 5, correlation),
                      now = simulated(2 * pair + 1, 5 * slower, correlation);
    found.mean += differ(mean_latency_difference(before, now, confidence)) ? 1 : 0;
    found.median += differ(percentile_difference(before, now, 50, confidence)) ? 1 : 0;
    found.p99 += differ(percentile_difference(before, now, 99, confidence)) ? 1 : 0;
  }
  return found;
}

TEST(Difference, EqualProcessesAreRarelyCalledDifferent) {
  for (const double correlation : {0.0, 0.5, 0.9}) {
    const Found alarms = found(1, correlation, 0.95);
    EXPECT_LE(alarms.mean, 28) << correlation;  // 20 expected, and two standard deviations
    EXPECT_LE(alarms.median, 28) << correlation;
    EXPECT_LE(alarms.p99, 28) << correlation;
    const Found sure = found(1, correlation, 0.995);
    EXPECT_LE(sure.mean + sure.median + sure.p99, 8) << correlation;  // 6 expected of 1200
  }
}

TEST(Difference, AModelThatIsSlowerByTenPercentIsFound) {
  const Found slower = found(1.1, 0, 0.95);
  EXPECT_EQ(slower.mean, 400);
  EXPECT_EQ(slower.median, 400);
  EXPECT_GE(slower.p99, 350);
}

TEST(Difference, CorrelatedSamplesCountForFewer) {
  EXPECT_GT(independent_samples(simulated(1, 5, 0)), 1000);
  EXPECT_LT(independent_samples(simulated(1, 5, 0.9)), 400);
}

TEST(Difference, APercentileThatTooFewSamplesReachHasNoInterval) {
  const Measurement few = simulated(1, 5, 0, 100), other = simulated(2, 50, 0, 100);
  EXPECT_TRUE(std::isinf(percentile_difference(few, other, 99, 0.95).half_width));
  EXPECT_TRUE(differ(percentile_difference(few, other, 50, 0.95)));
}

TEST(Difference, OfOneRunNothingIsKnown) {
  EXPECT_TRUE(std::isinf(mean_latency_difference(simulated(1, 5, 0, 1), simulated(2, 5, 0, 1), 0.95).half_width));
}

}  // namespace
}  // namespace ridge::measure
