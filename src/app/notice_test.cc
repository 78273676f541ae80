#include "app/notice.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace ridge::app {
namespace {

TEST(Notice, IsGivenOnceAndOnlyToThoseWhoWait) {
  using std::chrono::milliseconds;
  FakeClock clock;
  int given = 0;
  Notice notice(clock, milliseconds(1000), [&] { ++given; });
  notice.look();
  clock.advance(milliseconds(999));
  notice.look();
  EXPECT_EQ(given, 0);
  clock.advance(milliseconds(1));
  notice.look();
  EXPECT_EQ(given, 1);
  clock.advance(milliseconds(5000));
  notice.look();
  EXPECT_EQ(given, 1);
}

}  // namespace
}  // namespace ridge::app
