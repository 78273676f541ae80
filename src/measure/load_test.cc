#include "measure/load.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/fake_clock.h"

namespace ridge::measure {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

StopOptions for_just(milliseconds time) { return {.half_width_percent = 0, .max_time = time}; }

// On a fake clock, with one thread at a time: no test needs a lock.
class LoadTest : public ::testing::Test {
 protected:
  Result<LoadResult> run(const RunOnce& target) { return run_load(target, options_, clock_); }
  FakeClock clock_;
  LoadOptions options_;
};

TEST_F(LoadTest, AClosedLoopKeepsEveryCallerBusyWithOneRequest) {
  int under_way = 0, most = 0;
  std::set<int> callers;
  options_.concurrency = 3;
  options_.stop = for_just(milliseconds(600));
  const Result<LoadResult> result = run([&](int caller, engine::RunTimes* times) -> Status {
    most = std::max(most, ++under_way);
    callers.insert(caller);
    clock_.sleep_for(milliseconds(5));
    --under_way;
    if (times) times->compute = milliseconds(4);
    return {};
  });
  ASSERT_TRUE(result);
  EXPECT_EQ(most, 3);
  EXPECT_EQ(callers, (std::set<int>{0, 1, 2}));
  EXPECT_EQ(result->latencies_ms, std::vector<double>(3 * 119, 5)) << "the runs that end with the time do not count";
  EXPECT_DOUBLE_EQ(result->rate_per_s, 3 * 200);
  EXPECT_EQ(result->mean_times.compute, milliseconds(4));
  EXPECT_EQ(result->verdict, Verdict::kSpent);
}

TEST_F(LoadTest, OfAClosedLoopEveryCallersOwnRateIsKnown) {
  options_.concurrency = 2;
  options_.stop = for_just(milliseconds(500));
  const Result<LoadResult> result = run([&](int caller, engine::RunTimes*) {
    clock_.sleep_for(milliseconds(caller == 0 ? 4 : 40));
    return ok_status();
  });
  ASSERT_TRUE(result);
  ASSERT_EQ(result->caller_rates_per_s.size(), 2u);
  EXPECT_DOUBLE_EQ(result->caller_rates_per_s[0], 250);
  EXPECT_DOUBLE_EQ(result->caller_rates_per_s[1], 25);
  EXPECT_DOUBLE_EQ(result->rate_per_s, 275);
  ASSERT_EQ(result->callers.size(), result->latencies_ms.size());
  for (size_t i = 0; i < result->callers.size(); ++i)
    EXPECT_EQ(result->latencies_ms[i], result->callers[i] == 0 ? 4 : 40);
  EXPECT_EQ(std::count(result->callers.begin(), result->callers.end(), 0), 124);
  EXPECT_EQ(std::count(result->callers.begin(), result->callers.end(), 1), 12) << "whole runs in 500 ms";
}

// A target that stalls once for 200 ms, at 200 requests per second: a client that waits for its answer would see one
// slow request; forty should have been sent meanwhile, and each of them was late.
TEST_F(LoadTest, AnOpenLoopShowsTheQueueBehindAStall) {
  int count = 0;
  options_.rate_per_s = 200;
  options_.stop = for_just(milliseconds(1500));
  const Result<LoadResult> result = run([&](int, engine::RunTimes*) -> Status {
    if (++count == 20) clock_.sleep_for(milliseconds(200));
    return {};
  });
  ASSERT_TRUE(result);
  ASSERT_EQ(result->latencies_ms.size(), 300u);
  for (size_t i = 0; i < 300; ++i)
    EXPECT_EQ(result->latencies_ms[i], i < 19 || i >= 59 ? 0 : 200 - 5.0 * static_cast<double>(i - 19)) << i;
  EXPECT_NEAR(result->busy_share, 0.2 / 1.5, 1e-3);
  EXPECT_NEAR(result->mean_queueing_ms, 39 * 100 / 300.0, 1e-9);
}

TEST_F(LoadTest, AnOpenLoopThatIsTooFastForTheTargetShowsGrowingDelay) {
  options_.rate_per_s = 200;  // twice the capacity of one caller
  options_.stop = for_just(milliseconds(1000));
  const Result<LoadResult> result = run([&](int, engine::RunTimes*) -> Status {
    clock_.sleep_for(milliseconds(10));
    return {};
  });
  ASSERT_TRUE(result);
  for (size_t i = 0; i < result->latencies_ms.size(); ++i)
    EXPECT_EQ(result->latencies_ms[i], 10 + 5.0 * static_cast<double>(i)) << i;
  EXPECT_NEAR(result->busy_share, 1, 1e-9);
}

TEST_F(LoadTest, WhatComesBeforeItIsWarmDoesNotCount) {
  int count = 0;
  TimePoint counting_from;
  options_.warm_up.emplace();
  options_.stop = for_just(milliseconds(400));
  options_.counting_begins = [&] { counting_from = clock_.now(); };
  const Result<LoadResult> result = run([&](int, engine::RunTimes*) -> Status {
    clock_.sleep_for(++count <= 5 ? milliseconds(40) : milliseconds(2));
    return {};
  });
  ASSERT_TRUE(result);
  EXPECT_EQ(result->latencies_ms, std::vector<double>(200, 2));
  EXPECT_GT(counting_from, TimePoint());
}

TEST_F(LoadTest, AnErrorEndsIt) {
  int count = 0;
  const Result<LoadResult> result = run([&](int, engine::RunTimes*) -> Status {
    clock_.sleep_for(milliseconds(1));
    if (++count >= 3) return Error{Code::kFailed, "no more"};
    return {};
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "no more");
}

TEST_F(LoadTest, AnInterruptedOneKeepsWhatItHas) {
  int count = 0;
  options_.interrupted = [&] { return count >= 10; };
  const Result<LoadResult> result = run([&](int, engine::RunTimes*) -> Status {
    ++count;
    clock_.sleep_for(milliseconds(1));
    return {};
  });
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->interrupted);
  EXPECT_EQ(result->latencies_ms.size(), 19u) << "looked at every 20 ms; the run that ends then is not there yet";
}

TEST_F(LoadTest, ShortRunsAreSeldomAskedForTheirStages) {
  int64_t runs = 0, asked = 0;
  options_.stop = for_just(milliseconds(300));
  const Result<LoadResult> result = run([&](int, engine::RunTimes* times) -> Status {
    clock_.sleep_for(microseconds(1));
    ++runs;
    if (!times) return {};
    ++asked;
    times->compute = std::chrono::nanoseconds(700);
    return {};
  });
  ASSERT_TRUE(result);
  EXPECT_GT(asked, 1);
  EXPECT_LT(asked, runs / 200) << "one in 8 · 32";
  EXPECT_EQ(result->mean_times.compute, std::chrono::nanoseconds(700)) << "the mean is over those that were asked";
}

TEST_F(LoadTest, OfShortRunsSomeAreTimedAndAllCountForTheRate) {
  int64_t runs = 0;
  options_.stop = for_just(milliseconds(500));
  const Result<LoadResult> result = run([&](int, engine::RunTimes*) -> Status {
    ++runs;
    clock_.sleep_for(runs % 32 == 5 ? microseconds(8) : microseconds(2));
    return {};
  });
  ASSERT_TRUE(result);
  EXPECT_NEAR(static_cast<double>(result->latencies_ms.size()), static_cast<double>(runs) / 32, 1);
  EXPECT_EQ(result->latencies_ms, std::vector(result->latencies_ms.size(), 0.002)) << "of one run, not of those before";
  EXPECT_NEAR(result->rate_per_s, 32 / 70e-6, 32 / 70e-6 * 1e-3);
}

// Answers each request after a time of its own. One thread.
class FakeServer final : public AsyncTarget {
 public:
  explicit FakeServer(Clock& clock) : clock_(clock) {}
  std::function<Nanoseconds(int number)> takes = [](int) { return milliseconds(5); };
  std::function<int(int number)> fails = [](int) { return 0; };
  std::function<int(int caller)> fails_caller = [](int) { return 0; };
  int number = 0;  // of requests sent
  size_t most = 0;

  void begin(int caller) override {
    in_flight_.emplace(clock_.now() + takes(number),
                       Ended{caller, fails(number) + fails_caller(caller),
                             engine::RunTimes{milliseconds(1), milliseconds(3), {}}, number});
    ++number;
    most = std::max(most, in_flight_.size());
  }
  void wait(int, TimePoint until, const std::function<void(const Ended&)>& ended) override {
    clock_.sleep_until(in_flight_.empty() ? until : std::min(until, in_flight_.begin()->first));
    while (!in_flight_.empty() && in_flight_.begin()->first <= clock_.now()) {
      const Ended first = in_flight_.begin()->second;
      in_flight_.erase(in_flight_.begin());
      ended(first);
    }
  }

 private:
  Clock& clock_;
  std::multimap<TimePoint, Ended> in_flight_;
};

class AsyncLoadTest : public LoadTest {
 protected:
  Result<LoadResult> run() { return run_load(server_, 1, options_, clock_); }
  FakeServer server_{clock_};
};

TEST_F(AsyncLoadTest, OneThreadKeepsAllCallersOfAClosedLoopBusy) {
  options_.concurrency = 300;
  options_.stop = for_just(milliseconds(600));
  const Result<LoadResult> result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(server_.most, 300u);
  EXPECT_EQ(result->latencies_ms, std::vector<double>(300 * 119, 5));
  EXPECT_NEAR(result->rate_per_s, 300 * 200, 1e-6);
  EXPECT_EQ(result->mean_times.compute, milliseconds(3));
  EXPECT_TRUE(result->failures.empty());
}

TEST_F(AsyncLoadTest, AnOpenLoopSendsAtIntendedTimes) {
  options_.concurrency = 4;
  options_.rate_per_s = 200;
  options_.stop = for_just(milliseconds(1000));
  const Result<LoadResult> result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->latencies_ms, std::vector<double>(200, 5));
  EXPECT_EQ(server_.most, 1u);
  EXPECT_NEAR(result->mean_queueing_ms, 0, 1e-9);
}

TEST_F(AsyncLoadTest, RequestsOfGivenTimesAreSentThenAndEndTheLoad) {
  options_.concurrency = 2;
  options_.keep_runs = true;
  options_.arrivals = {milliseconds(0), milliseconds(10), milliseconds(11), milliseconds(12), milliseconds(900)};
  options_.stop = for_just(milliseconds(60'000));
  server_.takes = [](int number) { return milliseconds(number == 1 ? 100 : 5); };
  const TimePoint begin = clock_.now();
  const Result<LoadResult> result = run();
  ASSERT_TRUE(result);
  EXPECT_LT(clock_.now() - begin, milliseconds(1000)) << "not until the time is over";
  ASSERT_EQ(result->runs.size(), 5u);
  std::map<int64_t, Nanoseconds> due, latency;
  for (const TimedRun& one : result->runs) due[one.number] = one.due - begin, latency[one.number] = one.end - one.due;
  EXPECT_EQ(due[2], milliseconds(11));
  EXPECT_EQ(latency[2], milliseconds(5));
  EXPECT_EQ(latency[3], milliseconds(9)) << "it waits for the second caller's turn, from its own time";
  EXPECT_EQ(due[4], milliseconds(900));
  options_.rate_per_s = 5;
  EXPECT_FALSE(run()) << "a rate and given times";
}

// One caller, one stall: latency counts from the intended time, as with a thread per caller.
TEST_F(AsyncLoadTest, AnOpenLoopShowsTheQueueBehindAStall) {
  options_.rate_per_s = 200;
  options_.stop = for_just(milliseconds(1500));
  server_.takes = [](int number) { return number == 19 ? milliseconds(200) : milliseconds(0); };
  const Result<LoadResult> result = run();
  ASSERT_TRUE(result);
  ASSERT_EQ(result->latencies_ms.size(), 300u);
  for (size_t i = 0; i < 300; ++i)
    EXPECT_EQ(result->latencies_ms[i], i < 19 || i >= 59 ? 0 : 200 - 5.0 * static_cast<double>(i - 19)) << i;
  EXPECT_NEAR(result->mean_queueing_ms, 39 * 100 / 300.0, 1e-9);
}

TEST_F(AsyncLoadTest, FailuresAreCountedByKindAndAreNoLatencies) {
  options_.stop = for_just(milliseconds(1000));
  server_.takes = [](int number) { return number % 10 == 9 ? milliseconds(1) : milliseconds(5); };
  server_.fails = [](int number) { return number % 10 == 9 ? 503 : 0; };
  const Result<LoadResult> result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->failures, (std::map<int, int64_t>{{503, 21}}));
  EXPECT_EQ(result->latencies_ms, std::vector<double>(result->latencies_ms.size(), 5));
  EXPECT_NEAR(result->rate_per_s, 9 / 0.046, 0.5) << "of the requests that succeeded";
}

TEST_F(AsyncLoadTest, ACallerWhoseRequestsAllFailAddsNothingToTheRate) {
  options_.concurrency = 2;
  options_.stop = for_just(milliseconds(600));
  server_.fails_caller = [](int caller) { return caller == 1 ? 503 : 0; };
  const Result<LoadResult> result = run();
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->rate_per_s, 200, 1e-6);
}

TEST_F(AsyncLoadTest, WhereEveryRequestFailsItEndsWithTheTime) {
  options_.warm_up.emplace();
  options_.warm_up->max_time = milliseconds(100);
  options_.stop = for_just(milliseconds(500));
  server_.fails = [](int) { return -1; };
  const Result<LoadResult> result = run();
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->latencies_ms.empty());
  EXPECT_GT(result->failures.at(-1), 90);
  EXPECT_EQ(result->verdict, Verdict::kSpent);
}

TEST_F(AsyncLoadTest, InterruptedItLeavesTheRequestsInFlight) {
  options_.concurrency = 2;
  server_.takes = [](int number) { return number < 10 ? milliseconds(5) : std::chrono::hours(1); };
  options_.interrupted = [&] { return server_.number == 12; };
  const TimePoint begin = clock_.now();
  const Result<LoadResult> result = run();
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->interrupted);
  EXPECT_EQ(result->latencies_ms.size(), 10u);
  EXPECT_LT(clock_.now() - begin, std::chrono::seconds(1));
}

TEST_F(LoadTest, NonsenseIsRefused) {
  const RunOnce target = [](int, engine::RunTimes*) -> Status { return {}; };
  options_.concurrency = 0;
  EXPECT_FALSE(run(target));
  options_.concurrency = 1;
  options_.rate_per_s = 0;
  EXPECT_FALSE(run(target));
}

}  // namespace
}  // namespace ridge::measure
