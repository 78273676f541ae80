#include "measure/rate_search.h"

#include <gtest/gtest.h>

#include <functional>

namespace ridge::measure {
namespace {

// Visits until it is over.
RateSearch search(RateSearchOptions options, const std::function<bool(double rate, int visit)>& meets) {
  RateSearch search(options);
  while (const std::optional<double> rate = search.next()) search.report(meets(*rate, search.visits()));
  return search;
}

TEST(RateSearch, FindsTheHighestRateWithinTheResolutionAndConfirmsIt) {
  for (double capacity : {1.0, 3.7, 100.0, 12345.0}) {
    const RateSearch found =
        search({.first_per_s = 1, .most_visits = 40}, [&](double rate, int) { return rate <= capacity; });
    ASSERT_TRUE(found.highest()) << capacity;
    EXPECT_LE(*found.highest(), capacity);
    EXPECT_GE(*found.highest() * 1.05, capacity);
    EXPECT_GT(*found.lowest_failed(), capacity);
    EXPECT_TRUE(found.confirmed());
  }
}

TEST(RateSearch, AFirstRateThatIsTooHighIsHalved) {
  const RateSearch found = search({.first_per_s = 1000}, [](double rate, int) { return rate <= 130; });
  ASSERT_TRUE(found.highest());
  EXPECT_NEAR(*found.highest(), 127, 4);
}

TEST(RateSearch, ARateThatMetTheGoalOnceOnlyIsNotTheAnswer) {
  const RateSearch found = search({.first_per_s = 64, .most_visits = 30}, [](double rate, int visit) {
    return visit == 0 ? true : rate < 60;  // the first visit was lucky
  });
  ASSERT_TRUE(found.highest());
  EXPECT_LT(*found.highest(), 60);
  EXPECT_GE(*found.highest() * 1.05, 60 * 0.95);
  EXPECT_TRUE(found.confirmed());
}

TEST(RateSearch, EndsAtTheLeastRateWhereNoneMeetsTheGoal) {
  const RateSearch found = search({.first_per_s = 100, .least_per_s = 10}, [](double, int) { return false; });
  EXPECT_FALSE(found.highest());
  EXPECT_EQ(found.visits(), 4) << "100, 50, 25, 12.5";
  EXPECT_EQ(found.lowest_failed(), 12.5);
}

TEST(RateSearch, EndsAfterTheMostVisitsWithWhatItHas) {
  const RateSearch found = search({.first_per_s = 1, .most_visits = 5}, [](double, int) { return true; });
  EXPECT_EQ(found.visits(), 5);
  EXPECT_EQ(found.highest(), 16);
  EXPECT_FALSE(found.confirmed());
  EXPECT_FALSE(found.lowest_failed());
}

}  // namespace
}  // namespace ridge::measure
