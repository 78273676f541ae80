#include "limits/pinned_bursts.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/clock.h"
#include "machine/probe.h"

namespace ridge::limits {
namespace {

TEST(PinnedBursts, CountTheWorkOfAllWorkersOverTheTimeTheyShare) {
  int cpu = machine::probe()->cpu.core_cpus.front();
  auto workers = PinnedThreads::gather({cpu, cpu}, {0, 0});
  ASSERT_TRUE(workers.ok());
  PinnedKernel kernel;
  kernel.units_per_repeat = 10;
  kernel.warm_up = 0;
  kernel.work = [](PinnedThreads::Worker&, int64_t repeats) {
    for (TimePoint start = SteadyClock::now();
         repeats > 0 && SteadyClock::now() - start < std::chrono::milliseconds(2);) {
    }
  };
  auto bursts = bursts_on(**workers, 2, kernel)(3, 4);
  ASSERT_TRUE(bursts.ok());
  ASSERT_EQ(bursts->size(), 4u);
  for (const Burst& burst : *bursts) {
    EXPECT_EQ(burst.units, 2 * 3 * 10);
    EXPECT_GE(burst.seconds, 2e-3);
  }
}

TEST(PinnedBursts, WarmUpOnceAndRepeatAsOftenAsAsked) {
  auto workers = PinnedThreads::gather({machine::probe()->cpu.core_cpus.front()}, {0});
  ASSERT_TRUE(workers.ok());
  std::vector<int64_t> calls;
  PinnedKernel kernel;
  kernel.warm_up = 7;
  kernel.work = [&](PinnedThreads::Worker&, int64_t repeats) { calls.push_back(repeats); };
  ASSERT_TRUE(bursts_on(**workers, 1, kernel)(5, 3));
  EXPECT_EQ(calls, (std::vector<int64_t>{7, 5, 5, 5}));
}

}  // namespace
}  // namespace ridge::limits
