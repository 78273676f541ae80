#include "serve/scheduler.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <semaphore>
#include <thread>

#include "base/fake_clock.h"
#include "serve/test_scheduler.h"

namespace ridge::serve {
namespace {

using namespace std::chrono_literals;

TEST(Scheduler, HandsOutWhatWaitsAsOneBatch) {
  FakeClock clock;
  Scheduler scheduler(merging(8, 0ns), true, clock, no_deadlines);
  for (int i = 0; i < 3; ++i) {
    ASSERT_FALSE(scheduler.submit(plain_job()));
  }
  Batch batch;
  ASSERT_TRUE(scheduler.take(batch));
  EXPECT_EQ(batch.jobs.size(), 3u);
  EXPECT_EQ(batch.ticket, 0u);
}

TEST(Scheduler, SetsApartWhoseClientsHaveLeftOrWillNotWait) {
  FakeClock clock;
  Scheduler scheduler(merging(8, 0ns), true, clock, [](TimePoint) {});
  std::stop_source client;
  client.request_stop();
  JobPtr left = plain_job(), late = plain_job();
  left->request.cancelled = client.get_token();
  late->request.deadline = clock.now();
  ASSERT_FALSE(scheduler.submit(std::move(left)));
  ASSERT_FALSE(scheduler.submit(plain_job()));
  ASSERT_FALSE(scheduler.submit(std::move(late)));
  Batch batch;
  ASSERT_TRUE(scheduler.take(batch));
  EXPECT_EQ(batch.jobs.size(), 1u);
  EXPECT_EQ(batch.unwanted.size(), 2u);
}

TEST(Scheduler, ALoneRequestIsHandedOutWhenItsDelayIsOver) {
  FakeClock clock;
  const TimePoint begin = clock.now();
  Scheduler scheduler(merging(8, 2ms), true, clock, no_deadlines);
  std::atomic<TimePoint> taken{};
  std::jthread worker([&] {
    Batch batch;
    EXPECT_TRUE(scheduler.take(batch));
    EXPECT_EQ(batch.jobs.size(), 1u);
    taken = clock.now();
  });
  ASSERT_FALSE(scheduler.submit(plain_job()));
  clock.await(begin + 2ms);
  clock.advance(2ms - 1ns);
  EXPECT_EQ(scheduler.waiting(), 1u);
  clock.advance(1ns);
  worker.join();
  EXPECT_EQ(taken.load(), begin + 2ms);
}

TEST(Scheduler, AnEarlierMomentOfALaterRequestWakesAWorker) {
  FakeClock clock;
  const TimePoint begin = clock.now();
  Scheduler scheduler(merging(8, 1h), true, clock, [](TimePoint) {});
  std::atomic<TimePoint> taken{};
  std::vector<std::jthread> workers;
  for (int i = 0; i < 2; ++i)
    workers.emplace_back([&] {
      Batch batch;
      if (!scheduler.take(batch)) return;
      taken = clock.now();
      scheduler.close();
    });
  clock.await(TimePoint::max(), 2);
  ASSERT_FALSE(scheduler.submit(plain_job()));
  clock.await(begin + 1h);
  JobPtr hurried = plain_job();
  hurried->request.deadline = begin + 5ms;
  ASSERT_FALSE(scheduler.submit(std::move(hurried)));
  clock.await(begin + 5ms);
  clock.advance(5ms);
  workers.clear();
  EXPECT_EQ(taken.load(), begin + 5ms);
}

// True if a lone request that comes amid frequent ones waits for the next, where that pays, while `idle` workers sleep.
bool waits_for_the_next(int idle) {
  QueueSettings settings = merging(64, 0ns);
  settings.batch.adaptive = true;
  FakeClock clock;
  Scheduler scheduler(settings, true, clock, no_deadlines);
  std::atomic<int> taken{0};
  std::counting_semaphore<> runs_end(0);
  std::vector<std::jthread> workers;
  const auto add_worker = [&] {
    workers.emplace_back([&] {
      Batch batch;
      while (scheduler.take(batch)) {
        taken += static_cast<int>(batch.jobs.size());
        taken.notify_one();
        runs_end.acquire();
      }
    });
  };
  add_worker();
  clock.await(TimePoint::max(), 1);
  EXPECT_FALSE(scheduler.submit(plain_job()));
  await(taken, 1);
  for (int i = 0; i < 16; ++i) {  // one run of 16 ms
    clock.advance(1ms);
    EXPECT_FALSE(scheduler.submit(plain_job()));
  }
  runs_end.release();
  await(taken, 17);
  clock.advance(20ms);  // and one of 20 ms, of 16 rows
  runs_end.release();
  clock.await(TimePoint::max(), 1);
  for (int i = 1; i < idle; ++i) add_worker();
  clock.await(TimePoint::max(), idle);
  EXPECT_FALSE(scheduler.submit(plain_job()));
  if (idle > 1) await(taken, 18);
  const bool waits = scheduler.waiting() == 1;
  scheduler.close();
  runs_end.release(2);
  return waits;
}

TEST(Scheduler, ABatchWaitsAdaptivelyOnlyWhileNoOtherWorkerSleeps) {
  EXPECT_TRUE(waits_for_the_next(1));
  EXPECT_FALSE(waits_for_the_next(2));
}

TEST(Scheduler, HurriedItDelaysNoBatchAndStillTakesJobs) {
  FakeClock clock;
  Scheduler scheduler(merging(8, 1h), true, clock, no_deadlines);
  ASSERT_FALSE(scheduler.submit(plain_job()));
  scheduler.hurry();
  Batch batch;
  ASSERT_TRUE(scheduler.take(batch));
  EXPECT_EQ(batch.jobs.size(), 1u);
  ASSERT_FALSE(scheduler.submit(plain_job()));
  ASSERT_TRUE(scheduler.take(batch));
}

TEST(Scheduler, AFullBatchDoesNotWaitForTheDelay) {
  FakeClock clock;
  Scheduler scheduler(merging(2, 1h), true, clock, no_deadlines);
  std::jthread worker([&] {
    Batch batch;
    EXPECT_TRUE(scheduler.take(batch));
    EXPECT_EQ(batch.jobs.size(), 2u);
  });
  for (int i = 0; i < 2; ++i) {
    ASSERT_FALSE(scheduler.submit(plain_job()));
  }
}

TEST(Scheduler, CloseHandsOutTheRestThenEndsTheWorkers) {
  FakeClock clock;
  Scheduler scheduler(merging(8, 1h), true, clock, no_deadlines);
  ASSERT_FALSE(scheduler.submit(plain_job()));
  scheduler.close();
  const std::optional<Rejection> rejection = scheduler.submit(plain_job());
  ASSERT_TRUE(rejection);
  EXPECT_EQ(rejection->error.code, Code::kUnavailable);
  EXPECT_TRUE(rejection->job) << "it comes back";
  Batch batch;
  EXPECT_TRUE(scheduler.take(batch));
  EXPECT_EQ(batch.jobs.size(), 1u);
  EXPECT_FALSE(scheduler.take(batch));
}

TEST(Scheduler, EveryJobIsTakenExactlyOnceByManyWorkers) {
  for (Nanoseconds delay : {Nanoseconds(0ns), Nanoseconds(200us)}) {
    Scheduler scheduler(merging(4, delay), true, system_clock(), no_deadlines);
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
            ASSERT_FALSE(scheduler.submit(plain_job()));
            if (n % 64 == 0) std::this_thread::yield();
          }
        });
      clients.clear();
      await(taken, kJobs);  // nothing stays queued while workers are idle
      scheduler.close();
    }
    EXPECT_EQ(taken, kJobs);
  }
}

// How four jobs of a full batch are distributed to two workers: the sizes of the parts, the larger first.
std::vector<size_t> parts_of_four(QueueSettings settings) {
  FakeClock clock;
  Scheduler scheduler(std::move(settings), true, clock, no_deadlines);
  std::array<size_t, 2> taken = {0, 0};
  {
    std::vector<std::jthread> workers;
    for (size_t& count : taken)
      workers.emplace_back([&scheduler, &count] {
        Batch batch;
        if (scheduler.take(batch)) count = batch.jobs.size();
      });
    clock.await(TimePoint::max(), 2);  // both sleep
    for (int i = 0; i < 4; ++i) {
      EXPECT_FALSE(scheduler.submit(plain_job()));
    }
    scheduler.close();
  }
  EXPECT_EQ(taken[0] + taken[1], 4u);
  return {std::max(taken[0], taken[1]), std::min(taken[0], taken[1])};
}

TEST(Scheduler, SpreadsABatchOverAllWorkersThatSleep) {
  EXPECT_EQ(parts_of_four(merging(4, 1h)), (std::vector<size_t>{2, 2}));
  QueueSettings together = merging(4, 1h);
  together.spread = false;
  EXPECT_EQ(parts_of_four(together), (std::vector<size_t>{4, 0}));
}

TEST(Scheduler, AFewJobsAreSpreadOneByOne) {
  FakeClock clock;
  Scheduler scheduler(merging(2, 1h), true, clock, no_deadlines);
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
      ASSERT_FALSE(scheduler.submit(plain_job()));
    }
    await(taken, 2 * round);  // no part stays queued
  }
  scheduler.close();
}

TEST(Scheduler, AsksForACallAtTheEarliestDeadlineOnly) {
  QueueSettings settings = merging(8, 1h);
  settings.levels[0].allow_timeout_override = true;
  std::vector<TimePoint> alarms;
  FakeClock clock;
  Scheduler scheduler(settings, true, clock, [&](TimePoint due) { alarms.push_back(due); });
  for (Nanoseconds timeout : {Nanoseconds(1h), Nanoseconds(2h), Nanoseconds(1min)}) {
    JobPtr job = plain_job();
    job->request.timeout = timeout;
    ASSERT_FALSE(scheduler.submit(std::move(job)));
  }
  ASSERT_EQ(alarms, (std::vector{clock.now() + 1h, clock.now() + 1min})) << "the second is later than the first";
  EXPECT_TRUE(scheduler.expire(alarms[1] - 1ns).empty());
  EXPECT_EQ(scheduler.expire(alarms[1]).size(), 1u);
  ASSERT_EQ(alarms.size(), 3u);
  EXPECT_EQ(alarms[2], alarms[0]) << "the next one";
  EXPECT_EQ(scheduler.waiting(), 2u);
  EXPECT_EQ(scheduler.expire(alarms[2] + 3h).size(), 2u);
  EXPECT_EQ(alarms.size(), 3u) << "no job is left";
  EXPECT_TRUE(scheduler.expire(alarms[2] + 4h).empty());
}

TEST(Scheduler, AFullQueueSaysWhenTheNextBatchLeavesIt) {
  FakeClock clock;
  QueueSettings settings = merging(1, 0ns);
  settings.levels = {{.max_size = 1}};
  Scheduler scheduler(settings, true, clock, no_deadlines);
  Batch batch;
  ASSERT_FALSE(scheduler.submit(plain_job()));
  ASSERT_TRUE(scheduler.take(batch));
  ASSERT_FALSE(scheduler.submit(plain_job()));
  EXPECT_EQ(scheduler.submit(plain_job())->error.retry_after, 0ns) << "nothing is measured yet";
  clock.advance(10ms);
  ASSERT_TRUE(scheduler.take(batch));
  ASSERT_FALSE(scheduler.submit(plain_job()));
  clock.advance(4ms);
  const std::optional<Rejection> full = scheduler.submit(plain_job());
  ASSERT_TRUE(full);
  EXPECT_EQ(full->reason, FailureReason::kQueueFull);
  EXPECT_EQ(full->error.retry_after, 6ms);
  clock.advance(20ms);
  EXPECT_EQ(scheduler.submit(plain_job())->error.retry_after, 1ms) << "the batch is overdue";
}

}  // namespace
}  // namespace ridge::serve
