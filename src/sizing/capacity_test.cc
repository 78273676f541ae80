#include "sizing/capacity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace ridge::sizing {
namespace {

using ::testing::HasSubstr;

Load load_of(double rows_per_s, std::optional<double> p99_ms = {}) {
  Load load;
  load.rows_per_s = rows_per_s;
  load.p99_ms = p99_ms;
  return load;
}

TEST(Capacity, WithoutAGoalKeepsTheInstancesBelowTheMostUtilisation) {
  // 100 rows/s of 20 ms each are 2 erlang; at most 80 % busy: 2.5 instances, so 3, two to a machine: 2 machines.
  Capacity c = capacity(load_of(100), {1, 20, "given"}, 2);
  EXPECT_TRUE(c.met);
  EXPECT_EQ(c.instances, 3);
  EXPECT_EQ(c.machines, 2);
  EXPECT_NEAR(c.utilisation, 2.0 / 3, 1e-12);
  EXPECT_EQ(c.fill_ms, 0);
}

TEST(Capacity, ATighterGoalNeedsMoreInstances) {
  int64_t before = 0;
  for (double goal : {200.0, 40.0, 25.0, 20.5}) {
    Capacity c = capacity(load_of(1000, goal), {1, 20, "given"}, 1);
    ASSERT_TRUE(c.met) << goal;
    EXPECT_LE(c.p99_ms, goal);
    EXPECT_GE(c.instances, before) << goal;
    before = c.instances;
  }
  EXPECT_GT(before, 25);  // 20 erlang at 80 %
}

TEST(Capacity, TakesTheFewestInstancesThatMeetTheGoal) {
  Load load = load_of(1000, 30.0);
  Capacity c = capacity(load, {1, 20, "given"}, 1);
  // One fewer misses the goal or the utilisation limit: the p99 of `c` as the goal needs exactly as many.
  load.p99_ms = c.p99_ms;
  EXPECT_EQ(capacity(load, {1, 20, "given"}, 1).instances, c.instances);
  EXPECT_LE(c.p99_ms, 30);
}

TEST(Capacity, AGoalBelowTheServiceTimeIsNeverMet) {
  Capacity c = capacity(load_of(10, 15.0), {1, 20, "bound"}, 1);
  EXPECT_FALSE(c.met);
  EXPECT_THAT(c.reason, HasSubstr("20.0 ms (bound)"));
  EXPECT_THAT(c.reason, HasSubstr("15.0 ms"));
}

TEST(Capacity, FillingABatchCountsAgainstTheGoal) {
  // 8 rows at 10 rows/s: the first waits 700 ms on average for the others.
  Capacity c = capacity(load_of(10), {8, 50, "given"}, 1);
  EXPECT_TRUE(c.met);
  EXPECT_NEAR(c.fill_ms, 700, 1e-9);
  EXPECT_GT(c.p99_ms, 700 + 50);
  c = capacity(load_of(10, 500.0), {8, 50, "given"}, 1);
  EXPECT_FALSE(c.met);
  EXPECT_THAT(c.reason, HasSubstr("8 rows"));
}

TEST(Capacity, WaitingForOneRowIsExponential) {
  // Batches of 2: half of the rows wait for another, 98 % of these less than ln(50) / 100 s; the queue is empty.
  const Capacity c = capacity(load_of(100), {2, 1, "given"}, 1);
  EXPECT_NEAR(c.p99_ms - 1, 1e3 * std::log(50.0) / 100, 0.03 * 39.1);
}

// Full batches arrive evenly. By a simulation of its own (Python, 10^6 rows): 10.96 ms for two and three instances; as
// random arrivals, with percentiles added, 15.7 ms for three.
TEST(Capacity, BatchesHardlyQueue) {
  EXPECT_NEAR(with_instances(load_of(2000), {8, 5, "given"}, 3).p99_ms, 10.96, 0.2);
  EXPECT_NEAR(with_instances(load_of(2000), {8, 5, "given"}, 2).p99_ms, 10.96, 0.2);
  EXPECT_EQ(capacity(load_of(2000, 14.0), {8, 5, "given"}, 1).instances, 2);
}

TEST(BestCapacity, ChoosesTheBatchThatNeedsTheFewestMachines) {
  // Batches of 8 take 40 ms, 5 ms per row; alone a row takes 20 ms.
  std::vector<Service> services = {{1, 20, "given"}, {8, 40, "given"}};
  EXPECT_EQ(best_capacity(load_of(1000), services, 1).service.batch, 8);
  EXPECT_EQ(best_capacity(load_of(1000, 25.0), services, 1).service.batch, 1);
  Capacity none = best_capacity(load_of(1000, 5.0), services, 1);
  EXPECT_FALSE(none.met);
  EXPECT_EQ(none.service.batch, 1);
}

TEST(Capacity, OfALoadThatCannotBeMetTheJsonHasTheReasonAndNoInstances) {
  const Json met = json_of(capacity(load_of(100), {1, 20, "given"}, 2));
  EXPECT_EQ(met["instances"], 3);
  EXPECT_FALSE(met.contains("reason"));
  const Json not_met = json_of(capacity(load_of(100, 15), {1, 20, "given"}, 2));
  EXPECT_EQ(not_met["service_ms"], 20);
  EXPECT_TRUE(not_met.contains("reason"));
  EXPECT_FALSE(not_met.contains("instances"));
}

}  // namespace
}  // namespace ridge::sizing
