#include "tune/budget.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace ridge::tune {
namespace {

TEST(Budget, EveryPartHasTimeAndTheLastEndsWithTheWhole) {
  double before = 0;
  for (const Part part : {Part::kVariants, Part::kSearch, Part::kConfirm, Part::kCurve, Part::kEnd}) {
    EXPECT_GT(share_until(part), before);
    before = share_until(part);
  }
  EXPECT_EQ(before, 1);
}

TEST(Budget, WhatAnEarlierPartLeavesIsTheNextOnes) {
  FakeClock clock;
  const Budget budget(100, clock);
  clock.sleep_for(std::chrono::seconds(10));  // the variants were quick
  EXPECT_DOUBLE_EQ(budget.left(Part::kSearch), 100 * share_until(Part::kSearch) - 10);
  EXPECT_FALSE(budget.over(Part::kVariants));
  clock.sleep_for(std::chrono::seconds(80));
  EXPECT_EQ(budget.left(Part::kSearch), 0);
  EXPECT_TRUE(budget.over(Part::kSearch));
  EXPECT_DOUBLE_EQ(budget.left(Part::kEnd), 10);
  clock.sleep_for(std::chrono::seconds(10));
  EXPECT_TRUE(budget.over(Part::kEnd));
}

}  // namespace
}  // namespace ridge::tune
