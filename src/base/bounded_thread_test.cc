#include "base/bounded_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

namespace ridge {
namespace {

constexpr std::chrono::minutes kPatience(2);

TEST(BoundedThread, GivesTheStatusAgainAndAgain) {
  BoundedThread thread([](const std::stop_token&) -> Status { return Error{Code::kUnsupported, "no"}; });
  for (int i = 0; i < 2; ++i) {
    std::optional<Status> outcome = thread.outcome(kPatience);
    ASSERT_TRUE(outcome);
    ASSERT_FALSE(*outcome);
    EXPECT_EQ(outcome->error().code, Code::kUnsupported);
  }
}

TEST(BoundedThread, LoopEndsWhenItIsAskedTo) {
  BoundedThread thread([](const std::stop_token& stop) -> Status {
    while (!stop.stop_requested()) std::this_thread::yield();
    return {};
  });
  EXPECT_FALSE(thread.outcome(Nanoseconds(0)));
  thread.request_stop();
  std::optional<Status> outcome = thread.outcome(kPatience);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(*outcome);
}

// The work owns what it uses, so it may return long after.
TEST(BoundedThread, WorkThatDoesNotReturnIsLeftBehind) {
  auto released = std::make_shared<std::atomic<bool>>(false), returned = std::make_shared<std::atomic<bool>>(false);
  {
    BoundedThread thread([released, returned](const std::stop_token&) -> Status {
      released->wait(false);
      *returned = true;
      returned->notify_all();
      return {};
    });
    EXPECT_FALSE(thread.outcome(Nanoseconds(0)));
  }
  EXPECT_FALSE(*returned);
  *released = true;
  released->notify_all();
  returned->wait(false);
  EXPECT_TRUE(*returned);
}

}  // namespace
}  // namespace ridge
