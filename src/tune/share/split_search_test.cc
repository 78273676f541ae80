#include "tune/share/split_search.h"

#include <gtest/gtest.h>

#include <functional>

namespace ridge::tune::share {
namespace {

LonePoint lone(int threads, double rows_per_s) {
  LonePoint point;
  point.candidate.threads = threads;
  point.processors = threads;
  point.figures = {rows_per_s, 1e3 / rows_per_s, 1e3 / rows_per_s};
  return point;
}

// Two models alike on four processors.
std::vector<Member> alike(MemberGoal goal = {}) {
  const std::vector<LonePoint> points = {lone(1, 25), lone(2, 45), lone(3, 60), lone(4, 70)};
  return {Member{"a", goal, points.back(), points}, Member{"b", goal, points.back(), points}};
}

// Both sides of pairs that hardly differ from one another.
SharedTrial trial_of(const std::vector<double>& rates, const std::vector<double>& untuned) {
  SharedTrial trial;
  for (size_t i = 0; i < rates.size(); ++i) {
    Trial model;
    model.candidate.rows_per_s = rates[i];
    model.candidate.latency_ms.p50 = model.candidate.latency_ms.p99 = 1e3 / rates[i];
    model.baseline.rows_per_s = untuned[i];
    trial.models.push_back(model);
  }
  for (double noise : {0.99, 1.0, 1.01, 1.0}) {
    SharedPair pair{rates, untuned};
    for (double& rate : pair.split) rate *= noise;
    trial.pairs.push_back(pair);
  }
  trial.seconds = 1;
  return trial;
}

// A made-up machine: what a split does there.
using World = std::function<std::vector<double>(const Split&)>;

int play(SplitSearch& search, const World& world, int most = 50) {
  int measured = 0;
  for (; measured < most; ++measured) {
    const std::optional<SplitProbe> probe = search.next(0.01 * measured);
    if (!probe) break;
    search.report(probe->split, trial_of(world(probe->split), {20, 20}));
  }
  return measured;
}

std::vector<double> undisturbed(const Split& split) {
  std::vector<double> rates;
  const double crowd = split[0].threads + split[1].threads > 4 ? 2 : 1;
  for (const Candidate& own : split) rates.push_back(std::vector<double>{25, 45, 60, 70}[own.threads - 1] / crowd);
  return rates;
}

TEST(SplitSearch, FindsTheEvenSplitAndMeasuresFewOthers) {
  SplitSearch search(alike(), make_splits(alike(), {4, 0, 0}));
  play(search, undisturbed);
  const std::optional<SplitStanding> best = search.best();
  ASSERT_TRUE(best);
  EXPECT_EQ(best->entry.split[0].threads, 2);
  EXPECT_EQ(best->entry.split[1].threads, 2);
  EXPECT_GE(best->trials, 2) << "the winner is measured again";
  EXPECT_LE(search.measured().size(), 2u);
  int skipped = 0;
  for (const Skipped& entry : search.skipped()) skipped += entry.count;
  EXPECT_EQ(skipped + static_cast<int>(search.measured().size()), static_cast<int>(search.candidates()));
}

// Side by side the caches suffer, in turns they do not: nothing measured alone says so, only measuring together does.
TEST(SplitSearch, InterferenceThatOnlyShowsTogetherDecides) {
  auto world = [](const Split& split) {
    std::vector<double> rates = undisturbed(split);
    if (split[0].threads + split[1].threads <= 4)
      for (double& rate : rates) rate *= 0.5;
    return rates;
  };
  SplitSearch search(alike(), make_splits(alike(), {4, 0, 0}));
  play(search, world);
  ASSERT_TRUE(search.best());
  EXPECT_TRUE(search.best()->entry.in_turns);
}

TEST(SplitSearch, WhatMeetsTheGoalsGoesBeforeWhatIsFaster) {
  // 40 rows/s of the first are asked (50 needed at 80 %): 3 + 1.
  std::vector<Member> members = alike();
  members[0].goal.rows_per_s = 40;
  SplitSearch search(members, make_splits(members, {4, 0, 0}));
  play(search, undisturbed);
  ASSERT_TRUE(search.best());
  EXPECT_TRUE(search.best()->score.met);
  EXPECT_EQ(search.best()->entry.split[0].threads, 3);
}

TEST(SplitSearch, OfGoalsThatNothingMeetsTheClosestIsBest) {
  std::vector<Member> members = alike({60.0, std::nullopt});
  SplitSearch search(members, make_splits(members, {4, 0, 0}));
  play(search, undisturbed);
  ASSERT_TRUE(search.best());
  EXPECT_FALSE(search.best()->score.met);
  EXPECT_EQ(search.best()->entry.split[0].threads, 2);
  EXPECT_NEAR(search.best()->score.closeness, 0.8 * 45 / 60, 0.01);
}

TEST(SplitSearch, AFailureTakesTheSplitOutWithItsReason) {
  SplitSearch search(alike(), make_splits(alike(), {4, 0, 0}));
  const std::optional<SplitProbe> first = search.next(0);
  ASSERT_TRUE(first);
  SharedTrial failed;
  failed.models.resize(2);
  failed.failure = "no memory";
  search.report(first->split, failed);
  EXPECT_FALSE(search.best());
  const std::optional<SplitProbe> second = search.next(0);
  ASSERT_TRUE(second);
  EXPECT_NE(second->split, first->split);
  EXPECT_EQ(search.skipped().front().reason.find("needs more threads"), 0u);
  EXPECT_EQ(search.skipped()[1].reason, "failed: no memory");
}

TEST(SplitSearch, StopsWhenTimeOrTrialsAreSpent) {
  SplitSearch search(alike(), make_splits(alike(), {4, 0, 0}), 1);
  EXPECT_FALSE(search.next(1));
  const std::optional<SplitProbe> probe = search.next(0);
  ASSERT_TRUE(probe);
  search.report(probe->split, trial_of({45, 45}, {20, 20}));
  EXPECT_FALSE(search.next(0));
}

}  // namespace
}  // namespace ridge::tune::share
