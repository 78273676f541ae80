// A scheduler's batches that the thread which brought the jobs takes in place of the worker.
#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>
#include <thread>
#include <vector>

#include "base/fake_clock.h"
#include "serve/scheduler.h"
#include "serve/test_scheduler.h"

namespace ridge::serve {
namespace {

using namespace std::chrono_literals;

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

}  // namespace
}  // namespace ridge::serve
