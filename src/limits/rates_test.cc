#include "limits/rates.h"

#include <gtest/gtest.h>

#include <vector>

namespace ridge::limits {
namespace {

TEST(Rates, OfNothingAreZero) {
  EXPECT_EQ(best_rate({}), 0);
  EXPECT_EQ(sustained_rate({}), 0);
  EXPECT_EQ(typical_rate({}), 0);
  EXPECT_EQ(spread_percent({}), 0);
  EXPECT_EQ(clock_at(1, {}, {}), 0);
}

TEST(Rates, AVisitThatIsNotCompleteSustainsNothing) {
  EXPECT_EQ(sustained_rate(std::vector<double>(kBurstsPerVisit - 1, 5.0)), 0);
}

TEST(Rates, SustainedIsTheBetterHalfOfTheBestVisit) {
  EXPECT_EQ(sustained_rate(std::vector<double>{8, 8, 8, 8, 1, 1, 1, 1, 20, 2, 2, 2, 2, 2, 2, 2}), 8);
}

TEST(Rates, ClockIsTheHighestAmongTheBestBursts) {
  EXPECT_EQ(clock_at(100, std::vector<double>{100, 98, 50}, std::vector<double>{3.0, 3.5, 4.0}), 3.5);
}

TEST(Rates, SpreadIgnoresSingleLostBursts) {
  EXPECT_DOUBLE_EQ(spread_percent(std::vector<double>{100, 100, 100, 100, 100, 100, 100, 1}), 0);
  EXPECT_DOUBLE_EQ(spread_percent(std::vector<double>{90, 100, 110, 120}), 100 * 20.0 / 110 / 2);
}

TEST(RoundRule, GoesOnWhileAMetricGrowsAndAtLeastSoOften) {
  RoundRule rule(4, 100);
  int rounds = 0;
  for (; rule.another(0); ++rounds) rule.round_done(rounds == 2);
  EXPECT_EQ(rounds, 3 + 3) << "three quiet rounds after the last that grew";
  RoundRule quiet(4, 100);
  for (rounds = 0; quiet.another(0); ++rounds) quiet.round_done(false);
  EXPECT_EQ(rounds, 4);
}

TEST(RoundRule, EndsWhenTimeIsUpButNotBeforeTheFirstRound) {
  RoundRule rule(8, 1);
  EXPECT_TRUE(rule.another(5));
  rule.round_done(true);
  EXPECT_FALSE(rule.trial_over());
  EXPECT_TRUE(rule.another(0.9));
  EXPECT_FALSE(rule.another(1.0));
  rule.round_done(true);
  EXPECT_TRUE(rule.trial_over());
  EXPECT_TRUE(rule.another(0.6));
  EXPECT_FALSE(rule.another(0.7)) << "a third round would end after 1.05 s";
}

TEST(RoundRule, TellsHowFarItIsByTimeOrByRounds) {
  RoundRule rule(7, 10);
  EXPECT_DOUBLE_EQ(rule.share_done(5, 0), 0.5);
  rule.round_done(false);
  EXPECT_DOUBLE_EQ(rule.share_done(0, 0.5), 0.15) << "1.5 of 7 + 3 rounds";
  EXPECT_DOUBLE_EQ(rule.share_done(20, 0), 0.99);
}

}  // namespace
}  // namespace ridge::limits
