#include "serve/outlook.h"

#include <gtest/gtest.h>

#include "serve/test_time.h"

namespace ridge::serve {
namespace {

using namespace std::chrono_literals;

// A batch of n rows takes 8 + 2 n ms.
ServiceTimes linear_times(int64_t largest) {
  ServiceTimes times;
  for (int64_t rows = 1; rows <= largest; ++rows) times.record(rows, 8ms + rows * 2ms, at(rows));
  return times;
}

constexpr Nanoseconds kNoArrivals = Nanoseconds::max();

TEST(Outlook, AnEmptyQueueMeansTheRestOfTheRunThatGoesOn) {
  const Outlook outlook = outlook_of(1, {}, {{7ms}, 8, 8, kNoArrivals}, {}, linear_times(8));
  EXPECT_EQ(outlook.wait, 7ms);
  EXPECT_EQ(outlook.run, 10ms);
}

TEST(Outlook, RequestsBeforeItLeaveInWholeBatches) {
  const Outlook outlook = outlook_of(1, {18, 18}, {{7ms}, 8, 8, kNoArrivals}, {}, linear_times(8));
  EXPECT_EQ(outlook.wait, 7ms + 2 * 24ms);
  EXPECT_EQ(outlook.run, 14ms) << "with the two that are left of 18";
}

TEST(Outlook, InstancesShareTheBatches) {
  const Outlook second = outlook_of(1, {8, 8}, {{9ms, 4ms}, 8, 8, kNoArrivals}, {}, linear_times(8));
  EXPECT_EQ(second.wait, 9ms) << "the first that is free takes the first batch";
  const Outlook third = outlook_of(1, {16, 16}, {{9ms, 4ms}, 8, 8, kNoArrivals}, {}, linear_times(8));
  EXPECT_EQ(third.wait, 4ms + 24ms);
}

TEST(Outlook, ItsBatchGrowsByTheArrivalsMeanwhileUpToAWholeOne) {
  EXPECT_EQ(outlook_of(1, {}, {{6ms}, 8, 8, 2ms}, {}, linear_times(8)).run, 16ms) << "three come in 6 ms";
  EXPECT_EQ(outlook_of(1, {}, {{6ms}, 8, 8, 1us}, {}, linear_times(8)).run, 24ms);
}

TEST(Outlook, ABatchIsExpectedToGrowToTheSizeThatAnswersMostInTime) {
  const QueueLoad load{{6ms}, 8, 8, 1ms};
  EXPECT_EQ(outlook_of(1, {}, load, {.answer = 100ms}, linear_times(8)).run, 22ms) << "six come in 6 ms";
  EXPECT_EQ(outlook_of(1, {}, load, {.answer = 26ms}, linear_times(8)).run, 20ms)
      << "for eight only the last 2 ms would do";
  EXPECT_EQ(outlook_of(7, {}, {{6ms}, 8, 8, 10ms}, {.answer = 26ms}, linear_times(8)).run, 22ms)
      << "but it has its own rows";
}

TEST(Outlook, WithoutMergingEveryRequestIsARunOfItsOwnRows) {
  const Outlook outlook = outlook_of(4, {2, 8}, {{0ms}, 1, 4, 1us}, {}, linear_times(8));
  EXPECT_EQ(outlook.wait, 2 * 16ms);
  EXPECT_EQ(outlook.run, 16ms);
}

TEST(Outlook, IsCheckedAgainstTheDeadlineAndTheQueueTimeout) {
  const Outlook outlook{120ms, 15ms};
  EXPECT_TRUE(check_outlook(outlook, {}, "m"));
  EXPECT_TRUE(check_outlook(outlook, {.answer = 135ms}, "m"));
  EXPECT_TRUE(check_outlook(outlook, {.in_queue = 120ms}, "m"));
  EXPECT_FALSE(check_outlook(outlook, {.in_queue = 119ms}, "m"));
  const Status late = check_outlook(outlook, {.answer = 50ms}, "m");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kUnavailable);
  EXPECT_EQ(late.error().retry_after, 85ms);
  EXPECT_EQ(check_outlook(outlook, {.in_queue = 100ms, .answer = 130ms}, "m").error().retry_after, 20ms);
  for (const char* number : {"120 ms", "15 ms", "50 ms"})
    EXPECT_NE(late.error().message.find(number), std::string::npos) << late.error().message;
}

}  // namespace
}  // namespace ridge::serve
