#include "front/http/deadline.h"

#include <gtest/gtest.h>

namespace ridge::front::http {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint at(Nanoseconds time) { return TimePoint(1h + time); }

const ServerOptions kOptions{
    .idle_timeout = 600s, .head_timeout = 20s, .stall_timeout = 30s, .slowest_bytes_per_s = 1000};

TEST(Deadline, OfAnIdleConnectionAndOfAHeadCountFromTheirBegin) {
  EXPECT_EQ(deadline_of(Phase::kIdle, {at(5s), at(5s), 100}, kOptions), at(605s));
  EXPECT_EQ(deadline_of(Phase::kHandshake, {at(5s), at(24s), 900}, kOptions), at(25s));
  EXPECT_EQ(deadline_of(Phase::kHead, {at(5s), at(24s), 9000}, kOptions), at(25s)) << "bytes earn no time for a head";
}

TEST(Deadline, OfBytesMovesOnWithThem) {
  for (Phase phase : {Phase::kBody, Phase::kChunks, Phase::kDiscard, Phase::kWriting}) {
    EXPECT_EQ(deadline_of(phase, {at(0s), {}, 0}, kOptions), at(30s));
    // Each thousand bytes earn a second: a steady client at the slowest rate is never late, a slower one eventually is.
    EXPECT_EQ(deadline_of(phase, {at(0s), at(100s), 100'000}, kOptions), at(130s));
    EXPECT_EQ(deadline_of(phase, {at(0s), at(100s), 50'000}, kOptions), at(80s));
  }
}

TEST(Deadline, OfAClientThatWasFastAndIsSilentIsNotFarther) {
  EXPECT_EQ(deadline_of(Phase::kBody, {at(0s), at(1s), 1'000'000'000}, kOptions), at(31s));
}

TEST(Deadline, OfATransferThatDoesNotMoveIsNearWhenTheServerEnds) {
  for (Phase phase : {Phase::kHead, Phase::kBody, Phase::kChunks, Phase::kDiscard, Phase::kWriting}) {
    EXPECT_EQ(deadline_of(phase, {at(0s), at(1s), 100}, kOptions, at(2s)), at(7s));
    EXPECT_EQ(deadline_of(phase, {at(0s), at(4s), 100}, kOptions, at(2s)), at(9s)) << "it moves";
    EXPECT_LE(deadline_of(phase, {at(0s), at(29s), 100}, kOptions, at(2s)), at(31s)) << "never later than otherwise";
  }
  EXPECT_EQ(deadline_of(Phase::kHandling, {at(0s), at(0s), 0}, kOptions, at(2s)), TimePoint::max());
}

TEST(Deadline, IsNoneWhileTheServerWorks) {
  EXPECT_EQ(deadline_of(Phase::kHandling, {at(0s), at(0s), 0}, kOptions), TimePoint::max());
  EXPECT_EQ(deadline_of(Phase::kClosed, {at(0s), at(0s), 0}, kOptions), TimePoint::max());
  EXPECT_EQ(deadline_of(Phase::kLingering, {at(0s), at(1s), 5}, kOptions), at(2s));
}

}  // namespace
}  // namespace ridge::front::http
