#include "measure/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "measure/statistics.h"

namespace ridge::measure {
namespace {

std::vector<double> skewed(size_t count) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> latency(0.5, 0.4);
  std::vector<double> values(count);
  for (double& value : values) value = latency(random);
  return values;
}

TEST(Histogram, ABucketIsNoWiderThanOnePercentOfWhatItHolds) {
  for (int64_t value = 0; value < 5'000'000'000; value += 1 + value / 50) {
    const int64_t from = bucket_of(value), width = bucket_width(from);
    EXPECT_LE(from, value);
    EXPECT_LT(value, from + width);
    EXPECT_EQ(bucket_of(from + width - 1), from) << "a bucket ends where the next one begins";
    EXPECT_LE(width, std::max<int64_t>(1, value / 100));
  }
}

TEST(Histogram, HoldsEverySampleAndTheirFiguresWithinABucket) {
  std::vector<double> values = skewed(20000);
  const Histogram histogram = histogram_of(values);
  EXPECT_EQ(samples_in(histogram), 20000);
  EXPECT_LT(histogram.counts.size(), 1000u);
  std::ranges::sort(values);
  for (const double percent : {0.0, 50.0, 90.0, 99.0, 100.0}) {
    const double exact = percentile(values, percent);
    EXPECT_NEAR(percentile_of(histogram, percent), exact, 0.009 * exact) << percent;
  }
  EXPECT_NEAR(mean_of(histogram), mean(values), 0.002 * mean(values));
  EXPECT_NEAR(deviation_of(histogram), standard_deviation(values), 0.005 * standard_deviation(values));
}

TEST(Histogram, OfNothingHasNoFigures) {
  EXPECT_EQ(samples_in(histogram_of({})), 0);
  EXPECT_EQ(percentile_of({}, 50), 0);
  EXPECT_EQ(mean_of({}), 0);
  EXPECT_EQ(deviation_of({}), 0);
}

TEST(Histogram, IsReadBackAsItWasWritten) {
  const Histogram histogram = histogram_of(skewed(100));
  const Result<Histogram> read = from_json<Histogram>(json_of(histogram));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->from_ns, histogram.from_ns);
  EXPECT_EQ(read->counts, histogram.counts);
}

}  // namespace
}  // namespace ridge::measure
