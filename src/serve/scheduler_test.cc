#include "serve/scheduler.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "serve/deadline_timer.h"
#include "serve/ordered_delivery.h"

namespace ridge::serve {
namespace {

using namespace std::chrono_literals;

JobPtr plain_job(int64_t rows = 1) {
  auto job = std::make_unique<Job>();
  job->request.model = "m";
  job->rows = rows;
  return job;
}

// For queues without timeouts.
void no_deadlines(TimePoint) { ADD_FAILURE() << "no job has a deadline"; }

// Waits until `count` is `wanted`; who changes it notifies.
void await(const std::atomic<int>& count, int wanted) {
  for (int seen = count; seen < wanted; seen = count) count.wait(seen);
}

QueueSettings merging(int64_t max_rows, Nanoseconds delay) {
  QueueSettings settings;
  settings.batch = {true, max_rows, {}, delay};
  settings.levels = {{}};
  return settings;
}

TEST(Scheduler, HandsOutWhatWaitsAsOneBatch) {
  Scheduler scheduler(merging(8, 0ns), true, no_deadlines);
  for (int i = 0; i < 3; ++i) {
    JobPtr job = plain_job();
    ASSERT_TRUE(scheduler.submit(job));
    EXPECT_FALSE(job);
  }
  Batch batch;
  ASSERT_TRUE(scheduler.take(batch));
  EXPECT_EQ(batch.jobs.size(), 3u);
  EXPECT_EQ(batch.ticket, 0u);
}

TEST(Scheduler, ALoneRequestIsHandedOutWhenItsDelayIsOver) {
  Scheduler scheduler(merging(8, 2ms), true, no_deadlines);
  std::atomic<bool> taken{false};
  TimePoint start = SteadyClock::now();
  std::jthread worker([&] {
    Batch batch;
    taken = scheduler.take(batch) && batch.jobs.size() == 1;
  });
  JobPtr job = plain_job();
  ASSERT_TRUE(scheduler.submit(job));
  worker.join();
  EXPECT_TRUE(taken);
  EXPECT_GE(SteadyClock::now() - start, 2ms);
}

TEST(Scheduler, AFullBatchDoesNotWaitForTheDelay) {
  Scheduler scheduler(merging(2, 1h), true, no_deadlines);
  std::jthread worker([&] {
    Batch batch;
    EXPECT_TRUE(scheduler.take(batch));
    EXPECT_EQ(batch.jobs.size(), 2u);
  });
  for (int i = 0; i < 2; ++i) {
    JobPtr job = plain_job();
    ASSERT_TRUE(scheduler.submit(job));
  }
}

TEST(Scheduler, CloseHandsOutTheRestThenEndsTheWorkers) {
  Scheduler scheduler(merging(8, 1h), true, no_deadlines);
  JobPtr job = plain_job();
  ASSERT_TRUE(scheduler.submit(job));
  scheduler.close();
  job = plain_job();
  auto refused = scheduler.submit(job);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_TRUE(job) << "a refused job stays with its owner";
  Batch batch;
  EXPECT_TRUE(scheduler.take(batch));
  EXPECT_EQ(batch.jobs.size(), 1u);
  EXPECT_FALSE(scheduler.take(batch));
}

TEST(Scheduler, EveryJobIsTakenExactlyOnceByManyWorkers) {
  for (Nanoseconds delay : {Nanoseconds(0ns), Nanoseconds(200us)}) {
    Scheduler scheduler(merging(4, delay), true, no_deadlines);
    constexpr int kJobs = 4000;
    std::atomic<int> taken{0};
    {
      std::vector<std::jthread> workers;
      for (int i = 0; i < 3; ++i)
        workers.emplace_back([&] {
          Batch batch;
          while (scheduler.take(batch)) {
            taken += static_cast<int>(batch.jobs.size());
            taken.notify_one();
          }
        });
      std::vector<std::jthread> clients;
      for (int i = 0; i < 2; ++i)
        clients.emplace_back([&] {
          for (int n = 0; n < kJobs / 2; ++n) {
            JobPtr job = plain_job();
            ASSERT_TRUE(scheduler.submit(job));
            if (n % 64 == 0) std::this_thread::yield();
          }
        });
      clients.clear();
      await(taken, kJobs);  // nothing is left behind while workers are idle
      scheduler.close();
    }
    EXPECT_EQ(taken, kJobs);
  }
}

// How four jobs that make a full batch come to two workers: the sizes of what they take, the larger first.
std::vector<size_t> parts_of_four(QueueSettings settings, Nanoseconds before) {
  Scheduler scheduler(std::move(settings), true, no_deadlines);
  std::array<size_t, 2> taken = {0, 0};
  {
    std::vector<std::jthread> workers;
    for (size_t& count : taken)
      workers.emplace_back([&scheduler, &count] {
        Batch batch;
        if (scheduler.take(batch)) count = batch.jobs.size();
      });
    std::this_thread::sleep_for(before);
    for (int i = 0; i < 4; ++i) {
      JobPtr job = plain_job();
      EXPECT_TRUE(scheduler.submit(job));
    }
    scheduler.close();
  }
  EXPECT_EQ(taken[0] + taken[1], 4u);
  return {std::max(taken[0], taken[1]), std::min(taken[0], taken[1])};
}

TEST(Scheduler, SpreadsABatchOverAllWorkersThatSleep) {
  const std::vector<size_t> halves = {2, 2}, whole = {4, 0};
  // Whether both sleep already cannot be seen from outside: they get more time until they do.
  std::vector<size_t> seen;
  for (Nanoseconds before = 1ms; seen != halves && before < 4s; before *= 2)
    seen = parts_of_four(merging(4, 1h), before);
  EXPECT_EQ(seen, halves);
  QueueSettings together = merging(4, 1h);
  together.spread = false;
  EXPECT_EQ(parts_of_four(together, 10ms), whole);
}

TEST(Scheduler, AFewJobsAreSpreadOneByOne) {
  Scheduler scheduler(merging(2, 1h), true, no_deadlines);
  std::atomic<int> taken{0};
  std::vector<std::jthread> workers;
  for (int i = 0; i < 5; ++i)
    workers.emplace_back([&] {
      Batch batch;
      while (scheduler.take(batch)) {
        taken += static_cast<int>(batch.jobs.size());
        taken.notify_one();
      }
    });
  for (int round = 1; round <= 200; ++round) {
    for (int i = 0; i < 2; ++i) {
      JobPtr job = plain_job();
      ASSERT_TRUE(scheduler.submit(job));
    }
    await(taken, 2 * round);  // no part stays behind
  }
  scheduler.close();
}

TEST(Scheduler, AsksForACallAtTheEarliestDeadlineOnly) {
  QueueSettings settings = merging(8, 1h);
  settings.levels[0].allow_timeout_override = true;
  std::vector<TimePoint> alarms;
  Scheduler scheduler(settings, true, [&](TimePoint due) { alarms.push_back(due); });
  for (Nanoseconds timeout : {Nanoseconds(1h), Nanoseconds(2h), Nanoseconds(1min)}) {
    JobPtr job = plain_job();
    job->request.timeout = timeout;
    ASSERT_TRUE(scheduler.submit(job));
  }
  ASSERT_EQ(alarms.size(), 2u) << "the second is later than the first";
  EXPECT_LT(alarms[1], alarms[0]);
  EXPECT_TRUE(scheduler.expire(alarms[1] - 1ns).empty());
  EXPECT_EQ(scheduler.expire(alarms[1]).size(), 1u);
  ASSERT_EQ(alarms.size(), 3u);
  EXPECT_EQ(alarms[2], alarms[0]) << "the next one";
  EXPECT_EQ(scheduler.waiting(), 2u);
  EXPECT_EQ(scheduler.expire(alarms[2] + 3h).size(), 2u);
  EXPECT_EQ(alarms.size(), 3u) << "no job is left";
  EXPECT_TRUE(scheduler.expire(alarms[2] + 4h).empty());
}

class RecordsExpiry : public Expirable {
 public:
  void expire(TimePoint now) override {
    called_at[static_cast<size_t>(calls)] = now;
    if (again != nullptr && calls == 0) again->schedule(now + 2ms, self);
    ++calls;
    calls.notify_one();
  }
  DeadlineTimer* again = nullptr;  // is asked for a second call
  std::weak_ptr<Expirable> self;
  std::array<TimePoint, 2> called_at;
  std::atomic<int> calls{0};
};

TEST(DeadlineTimer, CallsWhenTheTimeHasComeAndAgainWhenAsked) {
  DeadlineTimer timer;
  auto recorder = std::make_shared<RecordsExpiry>();
  recorder->again = &timer;
  recorder->self = recorder;
  const TimePoint when = SteadyClock::now() + 2ms;
  timer.schedule(when + 1h, recorder);
  timer.schedule(when, recorder);
  await(recorder->calls, 2);
  EXPECT_GE(recorder->called_at[0], when);
  EXPECT_GE(recorder->called_at[1], recorder->called_at[0] + 2ms);
}

TEST(DeadlineTimer, SkipsTargetsThatAreGone) {
  DeadlineTimer timer;
  auto gone = std::make_shared<RecordsExpiry>();
  auto here = std::make_shared<RecordsExpiry>();
  timer.schedule(SteadyClock::now() + 1ms, gone);
  timer.schedule(SteadyClock::now() + 2ms, here);
  gone.reset();
  await(here->calls, 1);
}

TEST(OrderedDelivery, RunsActionsInTheOrderOfTheirTickets) {
  OrderedDelivery delivery;
  std::string text;
  delivery.bring(2, [&] { text += "c"; });
  delivery.bring(1, [&] { text += "b"; });
  EXPECT_EQ(text, "");
  delivery.bring(0, [&] { text += "a"; });
  EXPECT_EQ(text, "abc");
  delivery.bring(3, [&] { text += "d"; });
  EXPECT_EQ(text, "abcd");
}

TEST(OrderedDelivery, KeepsTheOrderAcrossThreads) {
  OrderedDelivery delivery;
  std::vector<uint64_t> seen;  // unguarded: the actions never overlap
  {
    std::vector<std::jthread> threads;
    for (uint64_t first = 0; first < 4; ++first)
      threads.emplace_back([&, first] {
        for (uint64_t ticket = first; ticket < 2000; ticket += 4)
          delivery.bring(ticket, [&seen, ticket] { seen.push_back(ticket); });
      });
  }
  ASSERT_EQ(seen.size(), 2000u);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

}  // namespace
}  // namespace ridge::serve
