#include "tune/figures.h"

#include <gtest/gtest.h>

namespace ridge::tune {
namespace {

Figures measured(double p99_ms, measure::Interval interval) {
  Figures figures{100, 5, p99_ms, 0, 10};
  figures.p99_ci95_ms = interval;
  return figures;
}

TEST(Figures, TheFirstMeasurementIsTakenAsItIs) {
  Figures all;
  merge(all, measured(10, {9, std::nullopt}), 1);
  EXPECT_EQ(all.p99_ms, 10);
  EXPECT_EQ(all.p99_ci95_ms.low, 9);
  EXPECT_FALSE(all.p99_ci95_ms.high);
}

// Halves: 10 + 0.5 · (14 − 10) = 12; below √(0.5² · 3² + 0.5² · 4²) = 2.5, above √(0.5² · 6² + 0.5² · 8²) = 5.
TEST(Figures, TheIntervalOfAMeanOfTwoIsNarrowerThanTheirMean) {
  Figures all = measured(10, {7, 16});
  merge(all, measured(14, {10, 22}), 0.5);
  EXPECT_DOUBLE_EQ(all.p99_ms, 12);
  EXPECT_DOUBLE_EQ(*all.p99_ci95_ms.low, 9.5);
  EXPECT_DOUBLE_EQ(*all.p99_ci95_ms.high, 17);
  EXPECT_EQ(all.samples, 20);
}

TEST(Figures, ASideThatOneMeasurementDoesNotKnowIsNotKnown) {
  Figures all = measured(10, {7, std::nullopt});
  merge(all, measured(14, {10, 22}), 0.5);
  EXPECT_TRUE(all.p99_ci95_ms.low);
  EXPECT_FALSE(all.p99_ci95_ms.high);
}

}  // namespace
}  // namespace ridge::tune
