#include "measure/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace ridge::measure {
namespace {

TEST(Compare, RatioAndIntervalOfAWorkedExample) {
  // Ratios 2 and 8: logarithms ln 2 and ln 8, mean ln 4, deviation ln 4 / √2, t(0.975, 1) = 12.706.
  Comparison comparison = standings_of({{"a", {}}, {"b", {}}}, {{1, 2}, {10, 80}}, 0.95);
  ASSERT_EQ(comparison.standings.size(), 2u);
  EXPECT_DOUBLE_EQ(comparison.standings[0].ratio, 1);
  EXPECT_DOUBLE_EQ(comparison.standings[0].ratio_high, 1);
  EXPECT_NEAR(comparison.standings[1].ratio, 4, 1e-12);
  double half = 12.7062 * std::log(4) / std::sqrt(2) / std::sqrt(2);
  EXPECT_NEAR(std::log(comparison.standings[1].ratio_high / 4), half, 1e-3);
  EXPECT_DOUBLE_EQ(comparison.standings[1].rate, 41);
}

// A machine that becomes three times slower half way through would turn a comparison in blocks upside down.
TEST(Compare, WhatDisturbsEveryoneCancels) {
  int calls = 0;
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(1, 0.01);
  auto contender = [&](const std::string& name, double speed) {
    return Contender{
        name, [&, speed](Nanoseconds) -> Result<double> { return speed * noise(random) / (++calls > 10 ? 3 : 1); }};
  };
  CompareOptions options;
  options.min_rounds = 10;
  Result<Comparison> result = compare({contender("a", 100), contender("b", 110)}, options);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->converged);
  EXPECT_GE(result->rounds, 10);
  EXPECT_NEAR(result->standings[1].ratio, 1.1, 0.02);
  EXPECT_LT(result->standings[1].ratio_low, result->standings[1].ratio);
}

TEST(Compare, EachRoundHasAnOrderOfItsOwn) {
  std::string order;
  auto contender = [&](char name) {
    return Contender{std::string(1, name), [&order, name](Nanoseconds) -> Result<double> {
                       order += name;
                       return 1.0;
                     }};
  };
  CompareOptions options;
  options.min_rounds = 12;
  ASSERT_TRUE(compare({contender('a'), contender('b')}, options).ok());
  EXPECT_NE(order.find("ab"), std::string::npos);
  EXPECT_NE(order.find("aa"), std::string::npos) << "a second in one round and first in the next: " << order;
}

TEST(Compare, AnErrorNamesItsContender) {
  Contender broken{"two instances",
                   [](Nanoseconds) -> Result<double> { return Error{Code::kFailed, "out of memory"}; }};
  Result<Comparison> result = compare({broken}, {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "two instances: out of memory");
}

}  // namespace
}  // namespace ridge::measure
