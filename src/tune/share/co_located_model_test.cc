#include "tune/share/co_located_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tune/test_layout.h"

namespace ridge::tune::share {
namespace {

CoLocatedModel with_goal(const std::string& name, double alone_rows_per_s, ModelGoal goal = {}) {
  CoLocatedModel member{name, goal, {}, {}};
  member.alone.figures.rows_per_s = alone_rows_per_s;
  return member;
}

TEST(Fulfilment, WithoutAGoalEverythingIsMet) {
  const Fulfilment none = fulfilment_of({}, laid_out(1, 1, 1), {10, 100, 120});
  EXPECT_TRUE(none.met());
  EXPECT_TRUE(std::isinf(none.ratio));
}

// 50 rows/s on one instance that does 100: half busy, 0.8 allowed, so 1.6 times the load.
TEST(Fulfilment, ALoadMayKeepTheInstancesBusyToFourFifths) {
  const Fulfilment half = fulfilment_of({50.0, std::nullopt}, laid_out(1, 1, 1), {100, 10, 11});
  EXPECT_NEAR(half.utilisation, 0.5, 1e-12);
  EXPECT_NEAR(half.ratio, 1.6, 1e-12);
  EXPECT_TRUE(half.met());
  const Fulfilment nearly_all = fulfilment_of({90.0, std::nullopt}, laid_out(1, 1, 1), {100, 10, 11});
  EXPECT_FALSE(nearly_all.met());
  EXPECT_NE(nearly_all.miss.find("90.0 %"), std::string::npos) << nearly_all.miss;
}

TEST(Fulfilment, TheP99UnderALoadCountsTheWaiting) {
  // Constant runs of 10 ms, 79 % busy: a request waits several runs at the 99th percentile.
  const Fulfilment busy = fulfilment_of({79.0, 20.0}, laid_out(1, 1, 1), {100, 10, 10});
  EXPECT_GT(busy.request_p99_ms, 30);
  EXPECT_FALSE(busy.met());
  const Fulfilment idle = fulfilment_of({1.0, 20.0}, laid_out(1, 1, 1), {100, 10, 10});
  EXPECT_TRUE(idle.met()) << idle.miss;
  // Without a load the p99 is of a run alone.
  EXPECT_TRUE(fulfilment_of({std::nullopt, 20.0}, laid_out(1, 1, 1), {100, 10, 19}).met());
  EXPECT_FALSE(fulfilment_of({std::nullopt, 20.0}, laid_out(1, 1, 1), {100, 10, 21}).met());
}

TEST(Score, WithoutLoadsIsTheLeastShareOfWhatEachDoesAlone) {
  const std::vector<CoLocatedModel> members = {with_goal("a", 100), with_goal("b", 10)};
  const std::vector<double> rates = {40, 6};
  EXPECT_NEAR(value_of(members, rates), 0.4, 1e-12);
}

TEST(Score, WithALoadForEachIsHowManyTimesAllAreCarried) {
  const std::vector<CoLocatedModel> members = {with_goal("a", 100, {20.0, {}}), with_goal("b", 10, {5.0, {}})};
  const std::vector<double> rates = {40, 6};
  EXPECT_NEAR(value_of(members, rates), 1.2, 1e-12);
}

TEST(Score, OfMixedGoalsTheLoadsAreConditionsAndTheOthersAreMaximised) {
  const std::vector<CoLocatedModel> members = {with_goal("a", 100, {20.0, {}}), with_goal("b", 10)};
  const std::vector<Candidate> partition = {laid_out(1, 1, 1), laid_out(1, 1, 1)};
  const std::vector<Figures> enough = {{40, 25, 25}, {6, 160, 160}};
  EXPECT_TRUE(score_of(members, partition, enough).met);
  EXPECT_NEAR(score_of(members, partition, enough).value, 0.6, 1e-12);
  const std::vector<Figures> too_little = {{15, 66, 66}, {9, 110, 110}};
  EXPECT_FALSE(score_of(members, partition, too_little).met);
  EXPECT_NEAR(score_of(members, partition, too_little).closeness, 0.8 * 15 / 20, 1e-12);
}

}  // namespace
}  // namespace ridge::tune::share
