#include "tune/load_goal.h"

#include <gtest/gtest.h>

#include "tune/test_layout.h"

namespace ridge::tune {
namespace {

Figures with_p99(double p99_ms, measure::Interval interval) {
  Figures figures{100, 10, p99_ms};
  figures.p99_ci95_ms = interval;
  return figures;
}

TEST(LoadGoal, AP99GoalWithinTheIntervalIsUndecided) {
  const Candidate one = laid_out(1, 1, 1);
  const ModelGoal goal{std::nullopt, 20.0};
  EXPECT_TRUE(undecided(goal, one, with_p99(19, {18, 21})));
  EXPECT_FALSE(undecided(goal, one, with_p99(18, {17, 19.9})));
  EXPECT_FALSE(undecided(goal, one, with_p99(22, {20.1, 24})));
  EXPECT_TRUE(undecided(goal, one, with_p99(19, {18, std::nullopt}))) << "the upper end lies beyond all runs";
  EXPECT_FALSE(undecided(goal, one, with_p99(21, {20.5, std::nullopt})));
  EXPECT_FALSE(undecided({}, one, with_p99(19, {18, 21}))) << "without a goal";
}

// A request waits for others too, so its p99 is above a run's, at both ends by the same time.
TEST(LoadGoal, UnderALoadTheRequestsIntervalIsJudged) {
  const Candidate one = laid_out(1, 1, 1);
  const ModelGoal goal{1.0, 20.0};
  const Figures figures = with_p99(19, {18, 21});
  const measure::Interval judged = judged_interval(goal, one, figures);
  EXPECT_DOUBLE_EQ(*judged.low, fulfilment_of(goal, one, with_p99(18, {})).request_p99_ms);
  EXPECT_GT(*judged.low, 18);
  EXPECT_NEAR(*judged.high - *judged.low, 3, 1e-9);
  EXPECT_TRUE(undecided(goal, one, figures));
  EXPECT_FALSE(undecided(goal, one, with_p99(12, {11, 13})));
}

}  // namespace
}  // namespace ridge::tune
