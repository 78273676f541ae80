#include "tune/share/partition_search.h"

#include <gtest/gtest.h>

#include <functional>

namespace ridge::tune::share {
namespace {

SoloPoint solo(int threads, double rows_per_s) {
  SoloPoint point;
  point.candidate.threads = threads;
  point.cpus = threads;
  point.figures = {rows_per_s, 1e3 / rows_per_s, 1e3 / rows_per_s};
  return point;
}

// Two models alike on four CPUs.
std::vector<CoLocatedModel> alike(ModelGoal goal = {}) {
  const std::vector<SoloPoint> points = {solo(1, 25), solo(2, 45), solo(3, 60), solo(4, 70)};
  return {CoLocatedModel{"a", goal, points.back(), points}, CoLocatedModel{"b", goal, points.back(), points}};
}

// Both sides of nearly identical pairs.
CoLocatedTrial trial_of(const std::vector<double>& rates, const std::vector<double>& untuned) {
  CoLocatedTrial trial;
  for (size_t i = 0; i < rates.size(); ++i) {
    Trial model;
    model.candidate.rows_per_s = rates[i];
    model.candidate.latency_ms.p50 = model.candidate.latency_ms.p99 = 1e3 / rates[i];
    model.baseline.rows_per_s = untuned[i];
    trial.models.push_back(model);
  }
  for (double noise : {0.99, 1.0, 1.01, 1.0}) {
    CoLocatedRound pair{rates, untuned};
    for (double& rate : pair.candidate) rate *= noise;
    trial.rounds.push_back(pair);
  }
  trial.seconds = 1;
  return trial;
}

// A synthetic machine: the result of a partition.
using World = std::function<std::vector<double>(const Partition&)>;

int play(PartitionSearch& search, const World& world, int most = 50) {
  int measured = 0;
  for (; measured < most; ++measured) {
    const std::optional<PartitionProbe> probe = search.next(0.01 * measured);
    if (!probe) break;
    search.report(probe->candidate, trial_of(world(probe->candidate), {20, 20}));
  }
  return measured;
}

std::vector<double> undisturbed(const Partition& partition) {
  std::vector<double> rates;
  const double crowd = partition[0].threads + partition[1].threads > 4 ? 2 : 1;
  for (const Candidate& own : partition) rates.push_back(std::vector<double>{25, 45, 60, 70}[own.threads - 1] / crowd);
  return rates;
}

TEST(PartitionSearch, FindsTheEvenSplitAndMeasuresFewOthers) {
  PartitionSearch search(alike(), make_partitions(alike(), {4, 0, 0}));
  play(search, undisturbed);
  const std::optional<PartitionStanding> best = search.best();
  ASSERT_TRUE(best);
  EXPECT_EQ(best->entry.partition[0].threads, 2);
  EXPECT_EQ(best->entry.partition[1].threads, 2);
  EXPECT_GE(best->trials, 2) << "the winner is measured again";
  EXPECT_LE(search.measured().size(), 2u);
  int skipped = 0;
  for (const SkipCount& entry : search.skipped()) skipped += entry.count;
  EXPECT_EQ(skipped + static_cast<int>(search.measured().size()), static_cast<int>(search.candidates()));
}

// Side by side the caches suffer, time-shared they do not: only measuring together shows it.
TEST(PartitionSearch, InterferenceThatOnlyShowsTogetherDecides) {
  auto world = [](const Partition& partition) {
    std::vector<double> rates = undisturbed(partition);
    if (partition[0].threads + partition[1].threads <= 4)
      for (double& rate : rates) rate *= 0.5;
    return rates;
  };
  PartitionSearch search(alike(), make_partitions(alike(), {4, 0, 0}));
  play(search, world);
  ASSERT_TRUE(search.best());
  EXPECT_TRUE(search.best()->entry.in_turns);
}

TEST(PartitionSearch, WhatMeetsTheGoalsGoesBeforeWhatIsFaster) {
  // The first needs 40 rows/s (50 at 80 %): 3 + 1.
  std::vector<CoLocatedModel> members = alike();
  members[0].goal.rows_per_s = 40;
  PartitionSearch search(members, make_partitions(members, {4, 0, 0}));
  play(search, undisturbed);
  ASSERT_TRUE(search.best());
  EXPECT_TRUE(search.best()->score.met);
  EXPECT_EQ(search.best()->entry.partition[0].threads, 3);
}

TEST(PartitionSearch, OfGoalsThatNothingMeetsTheClosestIsBest) {
  std::vector<CoLocatedModel> members = alike({60.0, std::nullopt});
  PartitionSearch search(members, make_partitions(members, {4, 0, 0}));
  play(search, undisturbed);
  ASSERT_TRUE(search.best());
  EXPECT_FALSE(search.best()->score.met);
  EXPECT_EQ(search.best()->entry.partition[0].threads, 2);
  EXPECT_NEAR(search.best()->score.closeness, 0.8 * 45 / 60, 0.01);
}

TEST(PartitionSearch, AFailureTakesTheSplitOutWithItsReason) {
  PartitionSearch search(alike(), make_partitions(alike(), {4, 0, 0}));
  const std::optional<PartitionProbe> first = search.next(0);
  ASSERT_TRUE(first);
  CoLocatedTrial failed;
  failed.models.resize(2);
  failed.failure = "no memory";
  search.report(first->candidate, failed);
  EXPECT_FALSE(search.best());
  const std::optional<PartitionProbe> second = search.next(0);
  ASSERT_TRUE(second);
  EXPECT_NE(second->candidate, first->candidate);
  EXPECT_EQ(search.skipped().front().reason.id, "threads");
  EXPECT_EQ(search.skipped()[1].reason.id, "failed");
  EXPECT_NE(search.skipped()[1].reason.text.find("no memory"), std::string::npos);
}

TEST(PartitionSearch, StopsWhenTimeOrTrialsAreSpent) {
  PartitionSearch search(alike(), make_partitions(alike(), {4, 0, 0}), 1);
  EXPECT_FALSE(search.next(1));
  const std::optional<PartitionProbe> probe = search.next(0);
  ASSERT_TRUE(probe);
  search.report(probe->candidate, trial_of({45, 45}, {20, 20}));
  EXPECT_FALSE(search.next(0));
}

}  // namespace
}  // namespace ridge::tune::share
