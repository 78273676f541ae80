#include "serve/service_times.h"

#include <gtest/gtest.h>

#include "serve/test_time.h"

namespace ridge::serve {
namespace {

using namespace std::chrono_literals;

TEST(ServiceTimes, KnowsNothingBeforeTheFirstBatch) {
  ServiceTimes times;
  EXPECT_TRUE(times.empty());
  EXPECT_EQ(times.usual(4), 0ns);
  times.record(4, 3ms, at(0));
  EXPECT_FALSE(times.empty());
  EXPECT_EQ(times.usual(4), 3ms);
  EXPECT_EQ(times.high(4), 3ms);
}

TEST(ServiceTimes, AnswersWithTheTwelfthAndTheFourteenthOfFifteen) {
  ServiceTimes times;
  for (int i = 1; i <= 15; ++i) times.record(1, i * 1ms, at(i));
  EXPECT_EQ(times.usual(1), 12ms);
  EXPECT_EQ(times.high(1), 14ms);
}

TEST(ServiceTimes, ExpectsTheLeastWhereTheDataDecideHowLongARunTakes) {
  ServiceTimes times;
  for (int i = 0; i < 4; ++i) times.record(1, 10ms + i * 5ms, at(i));
  EXPECT_EQ(times.expected(1), 25ms) << "noise";
  times.record(1, 10s, at(5));
  EXPECT_EQ(times.expected(1), 10ms);
  EXPECT_EQ(times.high(1), 10s);
}

TEST(ServiceTimes, OneOutlierChangesNothingOnceTheWindowIsFull) {
  ServiceTimes times;
  for (int i = 0; i < 14; ++i) times.record(1, 10ms, at(i));
  times.record(1, 10s, at(20));
  EXPECT_EQ(times.usual(1), 10ms);
  EXPECT_EQ(times.high(1), 10ms);
}

TEST(ServiceTimes, FollowsALastingChangeWithinAWindow) {
  ServiceTimes times;
  for (int i = 0; i < 15; ++i) times.record(1, 10ms, at(i));
  for (int i = 0; i < 4; ++i) times.record(1, 30ms, at(20 + i));
  EXPECT_EQ(times.usual(1), 30ms);
  for (int i = 0; i < 14; ++i) times.record(1, 10ms, at(30 + i));
  EXPECT_EQ(times.high(1), 10ms);
}

TEST(ServiceTimes, InterpolatesBetweenMeasuredRows) {
  ServiceTimes times;
  times.record(2, 10ms, at(0));
  times.record(6, 18ms, at(1));
  EXPECT_EQ(times.usual(3), 12ms);
  EXPECT_EQ(times.usual(1), 10ms);
  EXPECT_EQ(times.usual(64), 18ms);
}

TEST(ServiceTimes, ForgetsRowsThatDidNotRunWhileOthersDid) {
  ServiceTimes times;
  times.record(8, 900ms, at(0));
  times.record(1, 10ms, at(1'900'000));
  EXPECT_EQ(times.usual(8), 900ms);
  times.record(1, 10ms, at(2'100'000));
  EXPECT_EQ(times.usual(8), 10ms) << "until it runs again";
}

TEST(ServiceTimes, RemembersThroughATimeWithoutRuns) {
  ServiceTimes times;
  times.record(1, 10ms, at(0));
  times.record(8, 30ms, at(0));
  times.record(8, 30ms, at(3'600'000'000));
  EXPECT_EQ(times.usual(8), 30ms);
}

TEST(ServiceTimes, LongBatchesDoNotForgetEachOther) {
  ServiceTimes times;
  times.record(1, 1s, at(0));
  times.record(8, 5s, at(5'000'000));
  EXPECT_EQ(times.usual(1), 1s);
}

}  // namespace
}  // namespace ridge::serve
