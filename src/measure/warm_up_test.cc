#include "measure/warm_up.h"

#include <gtest/gtest.h>

namespace ridge::measure {
namespace {

using std::chrono::seconds;

TEST(WarmUp, EndsWhenLatenciesStopFalling) {
  WarmUp warm_up({});
  for (double latency : {90.0, 60.0, 40.0, 30.0, 25.0, 22.0, 20.0, 18.0, 16.0, 14.0}) warm_up.add(latency);
  EXPECT_FALSE(warm_up.steady(seconds(1)));
  for (int i = 0; i < 10; ++i) warm_up.add(13.5);
  EXPECT_TRUE(warm_up.steady(seconds(1)));
}

TEST(WarmUp, SteadyFromTheBeginningStillTakesTheLeastRunsAndTime) {
  WarmUp warm_up({});
  for (int i = 0; i < 9; ++i) warm_up.add(5);
  EXPECT_FALSE(warm_up.steady(seconds(1)));
  warm_up.add(5);
  EXPECT_FALSE(warm_up.steady(std::chrono::milliseconds(100)));
  EXPECT_TRUE(warm_up.steady(seconds(1)));
}

TEST(WarmUp, OneSlowRunAmongFastOnesDoesNotKeepItGoing) {
  WarmUp warm_up({});
  for (int i = 0; i < 12; ++i) warm_up.add(i == 9 ? 50 : 5);
  EXPECT_TRUE(warm_up.steady(seconds(1)));
}

TEST(WarmUp, IsGivenUpWhenItsTimeIsUp) {
  WarmUp warm_up({.max_time = seconds(3)});
  EXPECT_FALSE(warm_up.steady(seconds(4))) << "nothing has run";
  warm_up.add(2000);
  EXPECT_TRUE(warm_up.steady(seconds(4)));
}

}  // namespace
}  // namespace ridge::measure
