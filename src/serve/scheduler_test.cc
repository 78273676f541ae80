#include "serve/scheduler.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <semaphore>
#include <thread>

#include "base/fake_clock.h"
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

// Waits until `count` is `wanted`; every change notifies.
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

// Whether a lone request that comes amid frequent ones waits for the next, where that pays, while `idle` workers sleep.
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

// One worker that sleeps, after a first batch of one job that took `run`.
class LendingScheduler {
 public:
  explicit LendingScheduler(Nanoseconds run = 10us) {
    EXPECT_FALSE(scheduler.submit(plain_job(), true));
    worker_ = std::jthread([this] {
      Batch batch;
      while (scheduler.take(batch)) {
        taken += static_cast<int>(batch.jobs.size());
        taken.notify_one();
        if (taken == 1) measured_.acquire();
      }
    });
    await(taken, 1);
    clock.advance(run);
    measured_.release();
    clock.await(TimePoint::max(), 1);  // asleep
  }
  ~LendingScheduler() { scheduler.close(); }

  FakeClock clock;
  Scheduler scheduler{merging(8, 0ns), true, clock, no_deadlines};
  std::atomic<int> taken{0};  // by the worker

 private:
  std::binary_semaphore measured_{0};
  std::jthread worker_;
};

TEST(Scheduler, LendsAShortBatchToTheThreadThatBroughtIt) {
  LendingScheduler lending;
  Scheduler& scheduler = lending.scheduler;
  for (int i = 0; i < 2; ++i) ASSERT_FALSE(scheduler.submit(plain_job(), true));
  Batch batch;
  ASSERT_TRUE(scheduler.borrow(batch));
  EXPECT_EQ(batch.jobs.size(), 2u);
  ASSERT_FALSE(scheduler.submit(plain_job()));
  Batch other;
  EXPECT_FALSE(scheduler.borrow(other)) << "there is one instance";
  EXPECT_EQ(lending.taken, 1) << "the worker leaves its instance to the borrower";
  ASSERT_TRUE(scheduler.borrow(batch)) << "the next, in place of the last";
  EXPECT_EQ(batch.jobs.size(), 1u);
  EXPECT_FALSE(scheduler.borrow(batch));
  ASSERT_FALSE(scheduler.submit(plain_job()));
  scheduler.give_back(batch);
  await(lending.taken, 2);
}

TEST(Scheduler, LendsNoBatchThatIsExpectedToBeLong) {
  LendingScheduler lending(1ms);
  ASSERT_FALSE(lending.scheduler.submit(plain_job(), true));
  Batch batch;
  EXPECT_FALSE(lending.scheduler.borrow(batch));
  lending.scheduler.wake();
  await(lending.taken, 2);
}

TEST(Scheduler, LendsNothingBeforeARunWasMeasured) {
  FakeClock clock;
  Scheduler scheduler(merging(8, 0ns), true, clock, no_deadlines);
  std::jthread worker([&] {
    Batch batch;
    while (scheduler.take(batch)) {
    }
  });
  clock.await(TimePoint::max(), 1);
  ASSERT_FALSE(scheduler.submit(plain_job(), true));
  Batch batch;
  EXPECT_FALSE(scheduler.borrow(batch));
  scheduler.close();
}

TEST(Scheduler, TheWorkerEndsAfterTheBorrower) {
  LendingScheduler lending;
  ASSERT_FALSE(lending.scheduler.submit(plain_job(), true));
  Batch batch;
  ASSERT_TRUE(lending.scheduler.borrow(batch));
  ASSERT_FALSE(lending.scheduler.submit(plain_job(), true));
  lending.scheduler.close();
  lending.scheduler.give_back(batch);
  await(lending.taken, 2);  // what waited is still done
}

TEST(Scheduler, EveryJobIsTakenExactlyOnceByTheWorkerOrItsBorrowers) {
  Scheduler scheduler(merging(8, 0ns), true, system_clock(), no_deadlines);
  constexpr int kJobs = 8000;
  std::atomic<int> taken{0}, borrowed{0};
  auto take = [&](const Batch& batch) {
    taken += static_cast<int>(batch.jobs.size());
    taken.notify_one();
  };
  {
    std::jthread worker([&] {
      Batch batch;
      while (scheduler.take(batch)) take(batch);
    });
    std::vector<std::jthread> clients;
    for (int i = 0; i < 2; ++i)
      clients.emplace_back([&] {
        for (int n = 0; n < kJobs / 2; ++n) {
          ASSERT_FALSE(scheduler.submit(plain_job(), true));
          if (n % 4 != 3) continue;
          Batch batch;
          const bool lent = scheduler.borrow(batch);
          if (lent) take(batch);
          borrowed += static_cast<int>(batch.jobs.size());
          lent ? scheduler.give_back(batch) : scheduler.wake();
          if (n % 64 == 3) std::this_thread::sleep_for(100us);  // so that the worker sleeps
        }
      });
    clients.clear();
    await(taken, kJobs);
    scheduler.close();
  }
  EXPECT_EQ(taken, kJobs);
  EXPECT_GT(borrowed, 0);
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
