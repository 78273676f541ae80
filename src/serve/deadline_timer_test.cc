#include "serve/deadline_timer.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>

#include "base/fake_clock.h"
#include "serve/test_scheduler.h"

namespace ridge::serve {
namespace {

using namespace std::chrono_literals;

class RecordsExpiry : public Expirable {
 public:
  void expire(TimePoint now) override {
    called_at[static_cast<size_t>(calls)] = now;
    if (again != nullptr && calls == 0) again->schedule(now + 2ms, self);
    ++calls;
    calls.notify_one();
  }
  DeadlineTimer* again = nullptr;  // a second call is requested
  std::weak_ptr<Expirable> self;
  std::array<TimePoint, 2> called_at;
  std::atomic<int> calls{0};
};

TEST(DeadlineTimer, CallsWhenTheTimeHasComeAndAgainWhenAsked) {
  FakeClock clock;
  DeadlineTimer timer(clock);
  auto recorder = std::make_shared<RecordsExpiry>();
  recorder->again = &timer;
  recorder->self = recorder;
  const TimePoint when = clock.now() + 2ms;
  timer.schedule(when + 1h, recorder);
  timer.schedule(when, recorder);
  for (TimePoint due : {when, when + 2ms}) {
    clock.await(due);
    clock.advance(2ms);
  }
  await(recorder->calls, 2);
  EXPECT_EQ(recorder->called_at, (std::array{when, when + 2ms}));
}

TEST(DeadlineTimer, SkipsTargetsThatAreGone) {
  FakeClock clock;
  DeadlineTimer timer(clock);
  auto gone = std::make_shared<RecordsExpiry>();
  auto here = std::make_shared<RecordsExpiry>();
  const TimePoint begin = clock.now();
  timer.schedule(begin + 1ms, gone);
  timer.schedule(begin + 2ms, here);
  gone.reset();
  for (TimePoint due : {begin + 1ms, begin + 2ms}) {
    clock.await(due);
    clock.advance(1ms);
  }
  await(here->calls, 1);
}

}  // namespace
}  // namespace ridge::serve
