#include "base/fake_clock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

namespace ridge {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(FakeClock, ASleepTakesItsTimeAndNoneOfTheTests) {
  FakeClock clock;
  const TimePoint begin = clock.now();
  clock.sleep_for(hours(1000));
  EXPECT_EQ(clock.now() - begin, hours(1000));
  clock.sleep_until(begin);
  EXPECT_EQ(clock.now() - begin, hours(1000)) << "what is past is no reason to wait";
}

TEST(FakeClock, ALookCanTakeTime) {
  FakeClock clock{milliseconds(3)};
  const TimePoint begin = clock.now();
  std::jthread sleeper = clock.start([&] { clock.sleep_until(begin + milliseconds(1)); });
  EXPECT_EQ(clock.now() - begin, milliseconds(3));
  clock.join(sleeper);
  EXPECT_EQ(clock.now() - begin, milliseconds(6)) << "whoever slept too long does not turn it back";
}

TEST(FakeClock, ThreadsRunInTheOrderOfTheMomentsTheyWaitFor) {
  std::string first;
  for (int repeat = 0; repeat < 20; ++repeat) {
    FakeClock clock;
    std::string order;  // no lock: one thread runs at a time
    std::vector<std::jthread> threads;
    for (char name : {'a', 'b', 'c'})
      threads.push_back(clock.start([&, name] {
        for (int i = 0; i < 3; ++i) {
          clock.sleep_for(milliseconds(name == 'a' ? 2 : 3));
          order += name;
        }
      }));
    EXPECT_EQ(order, "") << "whoever has the turn keeps it until it sleeps";
    for (std::jthread& thread : threads) clock.join(thread);
    EXPECT_EQ(order, "abcabcabc");  // a at 2, 4 and 6 ms, b and c at 3, 6 and 9
    EXPECT_EQ(clock.now(), FakeClock().now() + milliseconds(9));
  }
}

TEST(FakeClock, AThreadStartsOthersAndJoinsThem) {
  FakeClock clock;
  const TimePoint begin = clock.now();
  std::jthread outer = clock.start([&] {
    std::jthread inner = clock.start([&] { clock.sleep_for(milliseconds(5)); });
    clock.join(inner);
    clock.sleep_for(milliseconds(1));
  });
  std::jthread longer = clock.start([&] { clock.sleep_for(milliseconds(7)); });
  clock.join(outer);
  EXPECT_EQ(clock.now() - begin, milliseconds(6));
  clock.join(longer);
  EXPECT_EQ(clock.now() - begin, milliseconds(7));
}

TEST(FakeClock, AnyOtherThreadWakesWhenItsTimeHasCome) {
  FakeClock clock;
  const TimePoint due = clock.now() + milliseconds(10);
  std::atomic<bool> awake = false;
  std::jthread other([&] {
    clock.sleep_until(due);
    awake = true;
  });
  clock.advance(milliseconds(9));
  EXPECT_FALSE(awake);
  clock.advance(milliseconds(1));
  other.join();
  EXPECT_TRUE(awake);
}

TEST(FakeClock, AWaitEndsWhenItIsNotifiedAndWhenItsTimeHasCome) {
  FakeClock clock;
  const TimePoint begin = clock.now();
  Mutex mutex;
  ConditionVariable changed;
  bool told = false;
  const auto waiter = [&](TimePoint due) {
    return std::jthread([&, due] {
      MutexLock lock(mutex);
      while (!told && clock.now() < due) clock.wait_until(changed, lock, due);
    });
  };
  std::jthread early = waiter(begin + milliseconds(1)), late = waiter(begin + milliseconds(3)),
               never = waiter(TimePoint::max());
  for (TimePoint due : {begin + milliseconds(1), begin + milliseconds(3), TimePoint::max()}) clock.await(due);
  clock.advance(milliseconds(1));
  early.join();
  clock.advance(milliseconds(1));
  {
    MutexLock lock(mutex);
    told = true;
    changed.notify_all();
  }
  late.join();
  never.join();
  EXPECT_EQ(clock.now() - begin, milliseconds(2));
}

TEST(FakeClock, NoWakeUpIsLost) {
  FakeClock clock;
  Mutex mutex;
  ConditionVariable changed;
  constexpr int kThreads = 4, kTimes = 500;
  std::vector<std::jthread> threads;
  const TimePoint begin = clock.now();
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      MutexLock lock(mutex);
      for (int n = 1; n <= kTimes; ++n)
        while (clock.now() < begin + n * milliseconds(1)) clock.wait_until(changed, lock, begin + n * milliseconds(1));
    });
  for (int n = 1; n <= kTimes; ++n) {
    clock.await(begin + n * milliseconds(1), kThreads);
    clock.advance(milliseconds(1));
  }
}

TEST(Clock, ASleepEndsWhenAStopIsRequested) {
  FakeClock clock;
  const TimePoint begin = clock.now();
  std::stop_source stop;
  EXPECT_TRUE(clock.sleep_until(begin, stop.get_token()));
  std::jthread sleeper([&] { EXPECT_FALSE(clock.sleep_until(begin + hours(1), stop.get_token())); });
  clock.await(begin + hours(1));
  stop.request_stop();
  sleeper.join();
  EXPECT_FALSE(clock.sleep_until(begin + hours(1), stop.get_token())) << "at once";
  EXPECT_EQ(clock.now(), begin);
}

TEST(Clock, AsleepItSeesWithin20MsThatWaitingIsPointless) {
  FakeClock clock;
  const TimePoint begin = clock.now();
  EXPECT_FALSE(clock.sleep_until(begin + hours(1), [&] { return clock.now() >= begin + milliseconds(12); }));
  EXPECT_EQ(clock.now(), begin + milliseconds(20));
  EXPECT_TRUE(clock.sleep_until(begin + milliseconds(27), [] { return false; }));
  EXPECT_EQ(clock.now(), begin + milliseconds(27));
}

TEST(Seconds, BecomeTheNearestNanosecond) {
  EXPECT_EQ(from_seconds(4.2e-3).count(), 4200000);
  EXPECT_EQ(from_seconds(1e-9 * 0.4).count(), 0);
}

TEST(Clock, TheSystemsSleepsForReal) {
  const TimePoint begin = SteadyClock::now();
  system_clock().sleep_for(milliseconds(2));
  EXPECT_GE(SteadyClock::now() - begin, milliseconds(2));
  EXPECT_GE(system_clock().now(), begin);
}

}  // namespace
}  // namespace ridge
