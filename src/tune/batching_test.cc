#include "tune/batching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridge::tune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Runs of fixed + per_row · b on one instance; the 99th percentile a tenth above.
std::vector<BatchPoint> affine(double fixed_ms, double per_row_ms, std::vector<int64_t> batches = {1, 2, 4, 8, 16}) {
  std::vector<BatchPoint> points;
  for (int64_t batch : batches) {
    const double ms = fixed_ms + per_row_ms * static_cast<double>(batch);
    points.push_back({batch, {.rows_per_s = 1e3 * static_cast<double>(batch) / ms, .p50_ms = ms, .p99_ms = 1.1 * ms}});
  }
  return points;
}

// 4 ms and 1 ms per row: batch 16 does 16 rows in 20 ms = 800 rows/s, batch 1 one in 5 ms = 200 rows/s. A tenth of the
// run is 2 ms, less than the 4 ms that a merged run saves.
TEST(AdviseBatching, WorkedExample) {
  const BatchingAdvice advice = advise_batching(affine(4, 1), 16, {});
  EXPECT_TRUE(advice.helps);
  EXPECT_NEAR(advice.fixed_ms, 4, 1e-9);
  EXPECT_NEAR(advice.per_row_ms, 1, 1e-9);
  EXPECT_NEAR(advice.gain, 4, 1e-9);
  EXPECT_THAT(advice.preferred, ElementsAre(16));
  EXPECT_NEAR(advice.queue_delay_ms, 2, 1e-9);
  EXPECT_THAT(advice.reason, HasSubstr("4.00×"));
}

TEST(AdviseBatching, DelayIsAtMostWhatTheSavedRunIsWorth) {
  const BatchingAdvice advice = advise_batching(affine(0.5, 5), 16, {});
  EXPECT_TRUE(advice.helps);  // 80.5 ms for 16 rows against 5.5 ms for one: 1.09×
  EXPECT_NEAR(advice.queue_delay_ms, 0.5, 1e-9);
}

TEST(AdviseBatching, ASmallerBatchThatIsAsGoodIsPreferredToo) {
  const BatchingAdvice advice = advise_batching(affine(0.5, 5), 16, {});  // batch 4: 195 rows/s of 199
  EXPECT_THAT(advice.preferred, ElementsAre(4, 16));
}

TEST(AdviseBatching, SaysWhenMergingCannotHelp) {
  const BatchingAdvice chosen_one = advise_batching(affine(0.02, 10), 1, {});
  EXPECT_FALSE(chosen_one.helps);
  EXPECT_TRUE(chosen_one.preferred.empty());
  EXPECT_EQ(chosen_one.queue_delay_ms, 0);
  EXPECT_EQ(chosen_one.max_batch, 16) << "clients may still send rows together: nothing is lost by it";
  EXPECT_EQ(chosen_one.id, "no-gain");
  EXPECT_FALSE(advise_batching(affine(0.02, 10), 8, {}).helps) << "a gain of 0.2 % is noise";
}

TEST(AdviseBatching, TheLuckOfTwoMeasurementsIsNoGain) {
  std::vector<BatchPoint> points = affine(0.01, 5);
  points[0].figures.rows_per_s *= 0.9;  // the rate of batch 1 was measured under disturbance
  const BatchingAdvice advice = advise_batching(points, 16, {});
  EXPECT_FALSE(advice.helps);
  EXPECT_EQ(advice.id, "scatter") << "1.11 times by these two, nothing by all";
}

// 1.2 times, with intervals of ± 3 % or of ± 30 % on both.
TEST(AdviseBatching, AGainWithinTheIntervalsIsNotCalledOne) {
  auto within = [](double share) {
    std::vector<BatchPoint> points = affine(1, 5);
    for (BatchPoint& point : points)
      point.rows_per_s_ci95 = {point.figures.rows_per_s / (1 + share), point.figures.rows_per_s * (1 + share)};
    return advise_batching(points, 16, {});
  };
  EXPECT_TRUE(within(0.03).helps);
  EXPECT_GT(*within(0.03).gain_ci95.low, 1);
  EXPECT_FALSE(within(0.3).helps);
  EXPECT_EQ(within(0.3).id, "scatter");
  EXPECT_LT(*within(0.3).gain_ci95.low, 1);
}

TEST(AdviseBatching, TheGoalLimitsBatchAndDelay) {
  // p99 = 1.1 · (4 + b): batch 4 has 8.8 ms, batch 8 has 13.2 ms.
  const BatchingAdvice advice = advise_batching(affine(4, 1), 4, 9.0);
  EXPECT_EQ(advice.max_batch, 4);
  EXPECT_NEAR(advice.queue_delay_ms, 0.2, 1e-9);
  EXPECT_THAT(advice.reason, HasSubstr("above the goal"));
}

TEST(AdviseBatching, ALargerBatchThatIsSlowerPerRowIsNotFormed) {
  std::vector<BatchPoint> points = affine(4, 1, {1, 2, 4, 8});
  points.push_back({16, 40, 44, 400});  // falls out of the cache
  EXPECT_EQ(advise_batching(points, 8, {}).max_batch, 8);
}

TEST(AdviseBatching, WithoutACurveNothingIsMerged) {
  const BatchingAdvice advice = advise_batching({}, 4, {});
  EXPECT_FALSE(advice.helps);
  EXPECT_EQ(advice.max_batch, 4);
}

PricedCandidate entry(int64_t batch, double max_rows_per_s) {
  PricedCandidate entry;
  entry.candidate.threads = 2;
  entry.candidate.batch = batch;
  entry.max_rows_per_s = max_rows_per_s;
  return entry;
}

TEST(BatchingOutlook, SaysInAdvanceWhatTheLimitAllows) {
  const std::vector<PricedCandidate> memory_bound{entry(1, 100), entry(2, 190), entry(4, 350)};
  EXPECT_NEAR(batching_outlook(memory_bound)->limit_gain, 3.5, 1e-9);
  const std::vector<PricedCandidate> compute_bound{entry(1, 100), entry(2, 100.5), entry(4, 101)};
  EXPECT_THAT(batching_outlook(compute_bound)->sentence, HasSubstr("the same at every batch"));
  EXPECT_FALSE(batching_outlook(std::vector<PricedCandidate>{entry(1, 100)}));
  EXPECT_FALSE(batching_outlook(std::vector<PricedCandidate>{entry(1, 0), entry(2, 0)}));
}

}  // namespace
}  // namespace ridge::tune
