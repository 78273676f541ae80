// Deadlines under load: what the scheduler refuses, and how much of the capacity is left for answers in time.
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "serve/simulated_load.h"

namespace ridge::serve {
namespace {

using namespace std::chrono_literals;

// A batch of n rows takes fixed + n * row, each time up to `noise` of it more or less.
struct LoadedCurve {
  std::string name;
  Nanoseconds fixed, row;
  int64_t max_rows;
  double noise;
  double least_goodput;  // of the capacity, at 3 times of it

  Nanoseconds time(int64_t rows) const { return fixed + rows * row; }
  double capacity() const { return static_cast<double>(max_rows) / to_seconds(time(max_rows)); }  // [rows/s]
};

constexpr Nanoseconds kDeadline = 100ms;

SimulatedLoad load_of(const LoadedCurve& model) {
  SimulatedLoad load;
  load.queue.batch = {model.max_rows > 1, model.max_rows, {}, 0ns};
  load.queue.levels = {{}};
  load.deadline = kDeadline;
  load.run_time = [model, random = std::mt19937_64(3)](int64_t rows, Nanoseconds) mutable {
    std::uniform_real_distribution<double> factor(1 - model.noise, 1 + model.noise);
    return from_seconds(to_seconds(model.time(rows)) * factor(random));
  };
  return load;
}

struct Outcome {
  int requests = 0, in_time = 0, refused = 0;
};

// Outcome of the requests that came from `begin` to `end`.
Outcome outcome_of(const std::vector<SimulatedRequest>& requests, Nanoseconds begin, Nanoseconds end) {
  Outcome outcome;
  for (const SimulatedRequest& request : requests) {
    if (request.at < begin || request.at >= end) continue;
    ++outcome.requests;
    outcome.refused += request.refused ? 1 : 0;
    outcome.in_time += request.answer && *request.answer <= kDeadline ? 1 : 0;
  }
  return outcome;
}

class Overload : public testing::TestWithParam<LoadedCurve> {};

TEST_P(Overload, AnswersInTimeStayNearTheCapacityWhereAPlainQueueCollapses) {
  const LoadedCurve& model = GetParam();
  constexpr Nanoseconds kTime = 20s;
  std::mt19937_64 random(7);
  SimulatedLoad told = load_of(model);
  add_poisson(told.requests, 3 * model.capacity(), 0s, kTime, random);
  SimulatedLoad plain = load_of(model);
  plain.requests = told.requests;
  plain.tells_deadline = false;
  const double possible = model.capacity() * to_seconds(kTime);
  EXPECT_GE(outcome_of(Simulation(std::move(told)).run(), 0s, kTime).in_time, model.least_goodput * possible);
  EXPECT_LE(outcome_of(Simulation(std::move(plain)).run(), 0s, kTime).in_time, 0.05 * possible);
}

TEST_P(Overload, AtHalfTheCapacityHardlyAnyRequestIsRefused) {
  const LoadedCurve& model = GetParam();
  std::mt19937_64 random(7);
  SimulatedLoad load = load_of(model);
  add_poisson(load.requests, 0.5 * model.capacity(), 0s, 20s, random);
  const Outcome outcome = outcome_of(Simulation(std::move(load)).run(), 0s, 20s);
  EXPECT_LE(outcome.refused, 0.005 * outcome.requests);
  EXPECT_GE(outcome.in_time, 0.99 * outcome.requests);
}

INSTANTIATE_TEST_SUITE_P(Models, Overload,
                         testing::Values(LoadedCurve{"alone", 10ms, 0ms, 1, 0.1, 0.95},
                                         LoadedCurve{"batches", 8ms, 2ms, 8, 0.1, 0.95},
                                         LoadedCurve{"unsteady", 8ms, 2ms, 8, 0.3, 0.95},
                                         LoadedCurve{"almost_free_rows", 20ms, 100us, 32, 0.1, 0.95},
                                         // A whole batch takes longer than the deadline.
                                         LoadedCurve{"no_gain_of_batches", 1ms, 10ms, 16, 0.3, 0.9}),
                         [](const auto& row) { return row.param.name; });

const LoadedCurve kCurve{"", 8ms, 2ms, 8, 0.1, 0};

TEST(Admission, GoodputIsBackWithinTwoSecondsAfterTheMachineWasTenTimesSlower) {
  std::mt19937_64 random(7);
  SimulatedLoad load = load_of(kCurve);
  load.run_time = [usual = load.run_time](int64_t rows, Nanoseconds at) {
    return usual(rows, at) * (at >= 5s && at < 8s ? 10 : 1);
  };
  add_poisson(load.requests, 3 * kCurve.capacity(), 0s, 15s, random);
  const Outcome outcome = outcome_of(Simulation(std::move(load)).run(), 10s, 15s);
  EXPECT_GE(outcome.in_time, 0.9 * kCurve.capacity() * 5);
}

TEST(Admission, OnceTheLoadIsOverNoRequestIsRefused) {
  std::mt19937_64 random(7);
  SimulatedLoad load = load_of(kCurve);
  add_poisson(load.requests, 3 * kCurve.capacity(), 0s, 5s, random);
  add_poisson(load.requests, 0.2 * kCurve.capacity(), 5s, 10s, random);
  const Outcome outcome = outcome_of(Simulation(std::move(load)).run(), 5s + kDeadline, 10s);
  EXPECT_GT(outcome.requests, 0);
  EXPECT_EQ(outcome.refused, 0);
  EXPECT_EQ(outcome.in_time, outcome.requests);
}

TEST(Admission, AnIdleServerRefusesNothingHoweverLongTheRunsWere) {
  SimulatedLoad load = load_of(kCurve);
  load.run_time = [](int64_t, Nanoseconds) { return 2 * kDeadline; };
  for (int i = 0; i < 20; ++i) load.requests.push_back({i * 1s, {}, false});
  const std::vector<SimulatedRequest> requests = Simulation(std::move(load)).run();
  EXPECT_EQ(outcome_of(requests, 0s, 20s).refused, 0);
  EXPECT_TRUE(requests.back().answer);
}

TEST(Admission, BeforeTheFirstBatchHasEndedNothingIsRefused) {
  SimulatedLoad load = load_of(kCurve);
  load.run_time = [](int64_t, Nanoseconds) { return 50s; };
  for (int i = 0; i < 200; ++i) load.requests.push_back({i * 1ms, {}, false});
  EXPECT_EQ(outcome_of(Simulation(std::move(load)).run(), 0s, 1s).refused, 0);
}

// A scheduler of one worker whose runs take 10 ms, one request each, and whose second one has just begun.
class BusyScheduler {
 public:
  explicit BusyScheduler(const QueuePolicy& policy = {}, size_t levels = 1)
      : scheduler_(settings(policy, levels), true, clock_, [](TimePoint) {}) {
    for (int run = 0; run < 2; ++run) {
      EXPECT_FALSE(scheduler_.submit(job()));
      EXPECT_TRUE(scheduler_.take(batch_));
      if (run == 0) clock_.advance(10ms);
    }
  }
  std::optional<Rejection> submit(std::optional<Nanoseconds> deadline, std::optional<Nanoseconds> timeout = {},
                                  uint64_t priority = 0, std::stop_token cancelled = {}) {
    JobPtr next = job();
    next->request.cancelled = std::move(cancelled);
    if (deadline) next->request.deadline = clock_.now() + *deadline;
    next->request.timeout = timeout;
    next->request.priority = priority;
    return scheduler_.submit(std::move(next));
  }

 private:
  static QueueSettings settings(const QueuePolicy& policy, size_t levels) {
    QueueSettings settings;
    settings.levels.assign(levels, policy);
    return settings;
  }
  static JobPtr job() {
    auto job = std::make_unique<Job>();
    job->request.model = "m";
    return job;
  }

  FakeClock clock_;
  Scheduler scheduler_;
  Batch batch_;
};

TEST(Admission, ComparesADeadlineWithTheRestOfTheRunTheQueueAndTheOwnRun) {
  BusyScheduler scheduler;
  const std::optional<Rejection> rejection = scheduler.submit(19ms);
  ASSERT_TRUE(rejection);
  EXPECT_EQ(rejection->reason, FailureReason::kPredictedLate);
  EXPECT_EQ(rejection->error.code, Code::kUnavailable);
  EXPECT_FALSE(scheduler.submit(20ms));
  EXPECT_TRUE(scheduler.submit(29ms));
  EXPECT_FALSE(scheduler.submit(30ms));
  EXPECT_FALSE(scheduler.submit({})) << "it has no deadline";
}

TEST(Admission, WaitsOnlyForRequestsOfItsPriorityAndAbove) {
  BusyScheduler scheduler({}, 2);
  ASSERT_FALSE(scheduler.submit({}, {}, 2));
  EXPECT_FALSE(scheduler.submit(20ms, {}, 1));
  EXPECT_TRUE(scheduler.submit(39ms, {}, 2));
  EXPECT_FALSE(scheduler.submit(40ms, {}, 2));
}

TEST(Admission, RequestsWhoseClientsHaveLeftAreNotWaitedFor) {
  BusyScheduler scheduler;
  std::stop_source leaves;
  for (int i = 0; i < 6; ++i) ASSERT_FALSE(scheduler.submit({}, {}, 0, leaves.get_token()));
  EXPECT_TRUE(scheduler.submit(20ms));
  leaves.request_stop();
  EXPECT_FALSE(scheduler.submit(20ms));
}

TEST(Admission, ARequestsTimeoutIsItsDeadlineWhereTheModelAllowsIt) {
  EXPECT_FALSE(BusyScheduler().submit({}, 5ms));
  EXPECT_TRUE(BusyScheduler({.allow_timeout_override = true}).submit({}, 19ms));
  EXPECT_FALSE(BusyScheduler({.allow_timeout_override = true}).submit({}, 20ms));
}

TEST(Admission, TheModelsTimeoutIsOfTheQueueAlone) {
  EXPECT_TRUE(BusyScheduler({.default_timeout = 9ms}).submit({}));
  EXPECT_FALSE(BusyScheduler({.default_timeout = 10ms}).submit({}));
}

TEST(Admission, WhereLateRequestsAreDelayedOnlyTheClientsDeadlineRefuses) {
  const QueuePolicy delays{.default_timeout = 1ms, .allow_timeout_override = true, .delay_expired = true};
  EXPECT_FALSE(BusyScheduler(delays).submit({}, 1ms));
  EXPECT_TRUE(BusyScheduler(delays).submit(19ms));
}

}  // namespace
}  // namespace ridge::serve
