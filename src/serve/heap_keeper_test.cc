#include "serve/heap_keeper.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/fake_clock.h"

namespace ridge::serve {
namespace {

using namespace std::chrono_literals;

TEST(HeapKeeper, GivesBackSoonAfterMuchWasFreedAndSeldom) {
  FakeClock clock;
  const TimePoint begin = clock.now();
  std::atomic<int> times = 0;
  const auto await = [&](int count) {
    while (times < count) std::this_thread::yield();
  };
  HeapKeeper keeper(clock, [&] { ++times; });
  keeper.note();
  keeper.note();
  clock.await(begin + 2s);
  EXPECT_EQ(times, 0);
  clock.advance(2s);
  await(1);
  keeper.note();
  clock.await(begin + 12s);
  EXPECT_EQ(times, 1);
  clock.advance(10s);
  await(2);
}

}  // namespace
}  // namespace ridge::serve
