#include "measure/load.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "base/mutex.h"
#include "measure/statistics.h"

namespace ridge::measure {
namespace {

using std::chrono::milliseconds;

StopOptions for_about(milliseconds time) { return {.half_width_percent = 1e-9, .min_time = time, .max_time = time}; }

TEST(Load, AClosedLoopKeepsEveryCallerBusyWithOneRequest) {
  std::atomic<int> under_way = 0, most = 0;
  std::set<int> callers;
  Mutex mutex;
  Target target = [&](int caller, engine::RunTimes* times) -> Status {
    int now = ++under_way;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    {
      MutexLock lock(mutex);
      callers.insert(caller);
    }
    std::this_thread::sleep_for(milliseconds(5));
    --under_way;
    if (times) times->compute = milliseconds(4);
    return {};
  };
  LoadOptions options;
  options.concurrency = 3;
  options.stop = for_about(milliseconds(600));
  Result<LoadResult> result = run_load(target, options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(most, 3);
  EXPECT_EQ(callers, (std::set<int>{0, 1, 2}));
  EXPECT_GT(result->latencies_ms.size(), 30u);
  EXPECT_GE(*std::min_element(result->latencies_ms.begin(), result->latencies_ms.end()), 5);
  double sum = 0;  // one request follows the other without a gap
  for (const auto& caller : result->callers) sum += 1e3 / mean(caller.latencies_ms);
  EXPECT_NEAR(result->rate_per_s, sum, sum * 1e-6);
  EXPECT_EQ(result->mean_times.compute, milliseconds(4));
}

TEST(Load, OfAClosedLoopEveryCallersOwnRateIsKnown) {
  const Target target = [](int caller, engine::RunTimes*) {
    std::this_thread::sleep_for(std::chrono::milliseconds(caller == 0 ? 4 : 40));
    return ok_status();
  };
  LoadOptions options;
  options.concurrency = 2;
  options.stop.min_samples = 1000000;
  options.stop.max_time = std::chrono::milliseconds(500);
  Result<LoadResult> result = run_load(target, options);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->callers.size(), 2u);
  EXPECT_GT(result->callers[0].rate_per_s, 2.5 * result->callers[1].rate_per_s);
  EXPECT_NEAR(result->rate_per_s, result->callers[0].rate_per_s + result->callers[1].rate_per_s, 1e-9);
  EXPECT_EQ(result->latencies_ms.size(),
            result->callers[0].latencies_ms.size() + result->callers[1].latencies_ms.size());
}

// A target that stalls once for 200 ms, at 200 requests per second: a client that waits for its answer would see one slow
// request; forty should have been sent meanwhile, and each of them was late.
TEST(Load, AnOpenLoopShowsTheQueueBehindAStall) {
  std::atomic<int> count = 0;
  Target target = [&](int, engine::RunTimes*) -> Status {
    if (++count == 20) std::this_thread::sleep_for(milliseconds(200));
    return {};
  };
  LoadOptions options;
  options.rate_per_s = 200;
  options.stop = for_about(milliseconds(1500));
  Result<LoadResult> result = run_load(target, options);
  ASSERT_TRUE(result.ok());
  auto late =
      std::count_if(result->latencies_ms.begin(), result->latencies_ms.end(), [](double ms) { return ms > 50; });
  EXPECT_GE(late, 20) << "30 of the requests due during the stall were late by more than 50 ms";
  EXPECT_GE(*std::max_element(result->latencies_ms.begin(), result->latencies_ms.end()), 199);
  EXPECT_LT(percentile(
                [&] {
                  auto v = result->latencies_ms;
                  std::sort(v.begin(), v.end());
                  return v;
                }(),
                25),
            20);
}

TEST(Load, AnOpenLoopThatIsTooFastForTheTargetShowsGrowingDelay) {
  Target target = [](int, engine::RunTimes*) -> Status {
    std::this_thread::sleep_for(milliseconds(10));
    return {};
  };
  LoadOptions options;
  options.rate_per_s = 200;  // twice what one caller can do
  options.stop = for_about(milliseconds(1000));
  Result<LoadResult> result = run_load(target, options);
  ASSERT_TRUE(result.ok());
  EXPECT_GT(result->latencies_ms.back(), result->latencies_ms.front() + 150);
}

TEST(Load, WhatComesBeforeItIsWarmDoesNotCount) {
  std::atomic<int> count = 0;
  Target target = [&](int, engine::RunTimes*) -> Status {
    std::this_thread::sleep_for(++count <= 5 ? milliseconds(40) : milliseconds(2));
    return {};
  };
  LoadOptions options;
  options.warm_up.emplace();
  options.stop = for_about(milliseconds(400));
  Result<LoadResult> result = run_load(target, options);
  ASSERT_TRUE(result.ok());
  std::vector<double> sorted = result->latencies_ms;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_LT(percentile(sorted, 50), 20);
  EXPECT_LE(sorted.size() + WarmUpOptions{}.min_runs, static_cast<size_t>(count));
}

TEST(Load, AnErrorEndsIt) {
  std::atomic<int> count = 0;
  Target target = [&](int, engine::RunTimes*) -> Status {
    if (++count >= 3) return Error{Code::kFailed, "no more"};
    return {};
  };
  Result<LoadResult> result = run_load(target, {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "no more");
}

TEST(Load, AnInterruptedOneKeepsWhatItHas) {
  std::atomic<int> count = 0;
  Target target = [&](int, engine::RunTimes*) -> Status {
    ++count;
    std::this_thread::sleep_for(milliseconds(1));
    return {};
  };
  LoadOptions options;
  options.interrupted = [&] { return count >= 10; };
  Result<LoadResult> result = run_load(target, options);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->interrupted);
  EXPECT_GE(result->latencies_ms.size(), 5u);
}

TEST(Load, ShortRunsAreSeldomAskedForTheirStages) {
  std::atomic<int64_t> runs = 0, asked = 0;
  Target target = [&](int, engine::RunTimes* times) -> Status {
    ++runs;
    if (!times) return {};
    ++asked;
    times->compute = std::chrono::nanoseconds(700);
    return {};
  };
  LoadOptions options;
  options.stop = for_about(milliseconds(300));
  Result<LoadResult> result = run_load(target, options);
  ASSERT_TRUE(result.ok());
  EXPECT_GT(asked, 1);
  EXPECT_LT(asked, runs / 4);
  EXPECT_EQ(result->mean_times.compute, std::chrono::nanoseconds(700)) << "the mean is over those that were asked";
}

TEST(Load, OfShortRunsSomeAreTimedAndAllCountForTheRate) {
  int64_t runs = 0;
  TimePoint first, last;
  Target target = [&](int, engine::RunTimes*) -> Status {
    const TimePoint begin = SteadyClock::now();
    if (++runs == 1) first = begin;
    while ((last = SteadyClock::now()) - begin < std::chrono::microseconds(2)) continue;
    return {};
  };
  LoadOptions options;
  options.stop = for_about(milliseconds(500));
  Result<LoadResult> result = run_load(target, options);
  ASSERT_TRUE(result.ok());
  EXPECT_LT(static_cast<int64_t>(result->latencies_ms.size()), runs / 16);
  EXPECT_GE(result->latencies_ms.front(), 0.002) << "of one run, not of those before it";
  // What a busy machine takes between the last look and the end is not counted alike.
  const double share = result->rate_per_s * to_seconds(last - first) / static_cast<double>(runs);
  EXPECT_GT(share, 0.5);
  EXPECT_LT(share, 2);
}

TEST(Load, NonsenseIsRefused) {
  Target target = [](int, engine::RunTimes*) -> Status { return {}; };
  LoadOptions none;
  none.concurrency = 0;
  EXPECT_FALSE(run_load(target, none).ok());
  LoadOptions never;
  never.rate_per_s = 0;
  EXPECT_FALSE(run_load(target, never).ok());
}

}  // namespace
}  // namespace ridge::measure
