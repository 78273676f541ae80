#include "serve/run_watch.h"

#include <gtest/gtest.h>

namespace ridge::serve {
namespace {

using namespace std::chrono_literals;

class RunWatchTest : public testing::Test {
 protected:
  RunWatchTest() {
    for (int i = 0; i < 2; ++i) {
      jobs_.push_back(std::make_unique<Job>());
      jobs_.back()->done = [this](const Result<InferResponse>&) { ++answered_; };
      jobs_.back()->request.arrived = begin_;
    }
  }

  const TimePoint begin_ = TimePoint(1000s);
  RunWatch watch_{10s, 2};
  Jobs jobs_;
  int answered_ = 0;
};

TEST_F(RunWatchTest, ARunWithinTheLimitIsLeftAlone) {
  EXPECT_EQ(watch_.begin(0, jobs_, 0, begin_), begin_ + 10s);
  EXPECT_EQ(watch_.end(0), RunWatch::End::kInTime);
  const RunWatch::Overdue overdue = watch_.check(begin_ + 10s);
  EXPECT_TRUE(overdue.to_break_off.empty());
  EXPECT_FALSE(overdue.next) << "nothing runs";
}

TEST_F(RunWatchTest, OneCheckServesAllRuns) {
  EXPECT_TRUE(watch_.begin(0, jobs_, 0, begin_));
  EXPECT_FALSE(watch_.begin(1, jobs_, 1, begin_ + 3s)) << "a check is coming already";
  const RunWatch::Overdue overdue = watch_.check(begin_ + 10s);
  EXPECT_EQ(overdue.to_break_off, std::vector<size_t>{0});
  EXPECT_EQ(overdue.next, begin_ + 13s) << "of the other";
}

TEST_F(RunWatchTest, ARunThatEndsOnceBrokenOffSaysSo) {
  watch_.begin(0, jobs_, 0, begin_);
  EXPECT_EQ(watch_.check(begin_ + 10s).next, begin_ + 15s);
  EXPECT_FALSE(watch_.check(begin_ + 11s).next) << "it was asked for";
  watch_.broken_off(0);
  EXPECT_EQ(watch_.end(0), RunWatch::End::kBrokenOff);
  EXPECT_EQ(watch_.check(begin_ + 15s).given_up.size(), 0u);
}

TEST_F(RunWatchTest, ARunThatDoesNotEndIsGivenUpWithItsRequests) {
  watch_.begin(0, jobs_, 7, begin_);
  watch_.check(begin_ + 10s);
  watch_.broken_off(0);
  RunWatch::Overdue overdue = watch_.check(begin_ + 15s);
  ASSERT_EQ(overdue.given_up.size(), 1u);
  EXPECT_EQ(overdue.given_up[0].ticket, 7u);
  EXPECT_EQ(overdue.given_up[0].time_in_server, 30s);
  EXPECT_FALSE(overdue.next);
  for (const InferDone& done : overdue.given_up[0].requests) done(Error{});
  EXPECT_EQ(answered_, 2);
  EXPECT_EQ(watch_.end(0), RunWatch::End::kGivenUp) << "its jobs are not answered again";
}

TEST(RunWatch, WithoutALimitNothingIsWatched) {
  RunWatch watch(0ns, 1);
  EXPECT_FALSE(watch.begin(0, {}, 0, TimePoint(1s)));
  EXPECT_EQ(watch.end(0), RunWatch::End::kInTime);
}

}  // namespace
}  // namespace ridge::serve
