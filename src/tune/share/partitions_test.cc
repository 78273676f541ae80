#include "tune/share/partitions.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ridge::tune::share {
namespace {

SoloPoint point(int cpus, double rows_per_s, double p99_ms, double memory_bytes = 0) {
  SoloPoint point;
  point.candidate.threads = cpus;
  point.cpus = cpus;
  point.figures = {rows_per_s, p99_ms, p99_ms};
  point.memory_bytes = memory_bytes;
  return point;
}

CoLocatedModel member(const std::string& name, std::vector<SoloPoint> points, ModelGoal goal = {}) {
  SoloPoint fastest = *std::max_element(points.begin(), points.end(), [](const SoloPoint& a, const SoloPoint& b) {
    return a.figures.rows_per_s < b.figures.rows_per_s;
  });
  return {name, goal, fastest, std::move(points)};
}

int threads_of(const PartitionOption& entry, size_t model) { return entry.partition[model].threads; }

// Two models of four CPUs; the second does not scale.
std::vector<CoLocatedModel> scaling_and_not() {
  return {member("a", {point(1, 25, 40), point(2, 50, 20), point(3, 75, 14), point(4, 100, 10)}),
          member("b", {point(1, 30, 33), point(2, 31, 32), point(3, 31.5, 32), point(4, 32, 31)})};
}

TEST(Partitions, ThreadsGoWhereTheyHelp) {
  const PartitionSpace space = make_partitions(scaling_and_not(), {4, 0, 0});
  ASSERT_FALSE(space.entries.empty());
  // 3 + 1: shares 0.75 and 0.94; the least is the highest of all side by side.
  EXPECT_EQ(threads_of(space.entries.front(), 0), 3);
  EXPECT_EQ(threads_of(space.entries.front(), 1), 1);
  EXPECT_FALSE(space.entries.front().in_turns);
  EXPECT_NEAR(space.entries.front().expectation.value, 0.75, 1e-12);
}

TEST(Partitions, WhatNeedsMoreThreadsThanThereAreIsLeftOutAndCounted) {
  const PartitionSpace space = make_partitions(scaling_and_not(), {4, 0, 0});
  // 6 of 16 combinations fit side by side (1+1, 1+2, 1+3, 2+1, 2+2, 3+1), and 4+4 may be time-shared.
  EXPECT_EQ(space.entries.size(), 7);
  ASSERT_EQ(space.skipped.size(), 1);
  EXPECT_EQ(space.skipped[0].count, 9);
  EXPECT_EQ(space.skipped[0].reason.id, "threads");
  EXPECT_EQ(
      std::count_if(space.entries.begin(), space.entries.end(), [](const PartitionOption& e) { return e.in_turns; }),
      1);
}

// Time-shared on two CPUs each model has half of the time: λ · (a/100 · 2 + b/10 · 2) ≤ 2 gives λ ≤ 1/2.
TEST(Partitions, InTurnsNoMoreCpuTimeIsUsedThanThereIs) {
  const std::vector<CoLocatedModel> two = {member("a", {point(2, 100, 10)}), member("b", {point(2, 10, 100)})};
  const PartitionSpace space = make_partitions(two, {2, 0, 0});
  ASSERT_EQ(space.entries.size(), 1);
  EXPECT_TRUE(space.entries[0].in_turns);
  EXPECT_NEAR(space.entries[0].most_value, 0.5, 1e-12);
  EXPECT_NEAR(space.entries[0].expected[0].rows_per_s, 50, 1e-12);
  EXPECT_NEAR(space.entries[0].expected[1].p99_ms, 200, 1e-12);
}

// Uneven loads, time-shared: 10 of 100 rows/s and 5 of 10: 0.1 + 0.5 of the time for one such load, so at most 1/0.6 of
// them.
TEST(Partitions, TheLimitOfALoadIsTheTimeItNeeds) {
  const std::vector<CoLocatedModel> two = {member("a", {point(2, 100, 10)}, {10.0, {}}),
                                           member("b", {point(2, 10, 100)}, {5.0, {}})};
  EXPECT_NEAR(make_partitions(two, {2, 0, 0}).entries[0].most_value, 1 / 0.6, 1e-12);
}

TEST(Partitions, WhatDoesNotFitIntoTheMemoryBudgetIsLeftOutWithTheReason) {
  const std::vector<CoLocatedModel> two = {member("a", {point(1, 50, 20, 600), point(1, 40, 25, 200)}),
                                           member("b", {point(1, 50, 20, 300)})};
  const PartitionSpace space = make_partitions(two, {2, 700, 100});
  ASSERT_EQ(space.entries.size(), 1);
  EXPECT_EQ(space.entries[0].memory_bytes, 600);
  ASSERT_EQ(space.skipped.size(), 1);
  EXPECT_EQ(space.skipped[0].reason.id, "memory");
}

TEST(Partitions, MoreModelsThanCpusGetOneThreadEach) {
  const std::vector<CoLocatedModel> three = {member("a", {point(1, 50, 20), point(2, 90, 11)}),
                                             member("b", {point(1, 50, 20)}), member("c", {point(1, 50, 20)})};
  const PartitionSpace space = make_partitions(three, {2, 0, 0});
  ASSERT_EQ(space.entries.size(), 1);
  EXPECT_EQ(threads_of(space.entries[0], 0), 1);
  EXPECT_NEAR(space.entries[0].expected[0].rows_per_s, 50 / 1.5, 1e-12);
}

TEST(Partitions, OnlyPointsThatNoOtherBeatsAreWorthwhile) {
  const std::vector<SoloPoint> kept = worthwhile(
      {point(1, 50, 20, 5), point(1, 40, 30, 9), point(1, 30, 10, 5), point(2, 45, 30, 9), point(1, 50, 20, 5)});
  ASSERT_EQ(kept.size(), 3);
  EXPECT_EQ(kept[0].figures.rows_per_s, 50);
  EXPECT_EQ(kept[1].figures.rows_per_s, 45) << "of another number of CPUs";
  EXPECT_EQ(kept[2].figures.rows_per_s, 30) << "sooner";
}

TEST(Partitions, EveryTextIsItsOwn) {
  const std::vector<CoLocatedModel> members = scaling_and_not();
  std::vector<std::string> texts;
  for (const PartitionOption& entry : make_partitions(members, {4, 0, 0}).entries)
    texts.push_back(partition_text(members, entry.partition));
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(std::unique(texts.begin(), texts.end()), texts.end());
}

}  // namespace
}  // namespace ridge::tune::share
