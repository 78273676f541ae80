#include "serve/batch_policy.h"

#include <gtest/gtest.h>

#include "serve/test_time.h"

#include <string>

namespace ridge::serve {
namespace {

using std::chrono::microseconds;
using Action = BatchDecision::Action;

struct QueuedRequest {
  int64_t rows;
  bool fits_first;
  int64_t queued_us;
};

struct Case {
  std::string name;
  BatchLimits limits;
  std::vector<QueuedRequest> waiting;
  int64_t now_us;
  Action action;
  size_t requests;   // kRun
  int64_t until_us;  // kWait
};

class BatchPolicyTable : public testing::TestWithParam<Case> {};

TEST_P(BatchPolicyTable, Decides) {
  const Case& row = GetParam();
  BatchPolicy policy(row.limits);
  for (const QueuedRequest& waiting : row.waiting) policy.add(waiting.rows, waiting.fits_first, at(waiting.queued_us));
  BatchDecision decision = policy.decide(at(row.now_us));
  EXPECT_EQ(decision.action, row.action);
  if (row.action == Action::kRun) {
    EXPECT_EQ(decision.requests, row.requests);
  }
  if (row.action == Action::kWait) {
    EXPECT_EQ(decision.until, at(row.until_us));
  }
}

const BatchLimits kAlone{false, 1, {}, {}};
const BatchLimits kNoDelay{true, 8, {}, {}};
const BatchLimits kDelay{true, 8, {}, microseconds(100)};
const BatchLimits kPreferred{true, 16, {4, 8}, microseconds(100)};
const BatchLimits kPreferredNoDelay{true, 16, {4, 8}, {}};

INSTANTIATE_TEST_SUITE_P(
    Rules, BatchPolicyTable,
    testing::Values(
        Case{"NothingWaits", kDelay, {}, 0, Action::kNothing, 0, 0},
        Case{"WithoutMergingOneRequestRunsAlone", kAlone, {{3, true, 0}, {1, true, 0}}, 0, Action::kRun, 1, 0},
        Case{"WithoutDelayEverythingRunsAtOnce", kNoDelay, {{1, true, 0}, {2, true, 0}}, 0, Action::kRun, 2, 0},
        Case{"ALoneRequestWaitsForTheDelay", kDelay, {{1, true, 50}}, 60, Action::kWait, 0, 150},
        Case{"ALoneRequestNeverWaitsLongerThanTheDelay", kDelay, {{1, true, 50}}, 150, Action::kRun, 1, 0},
        Case{"TheOldestRequestSetsTheDeadline", kDelay, {{1, true, 90}, {1, true, 50}}, 100, Action::kWait, 0, 150},
        Case{"AFullBatchRunsAtOnce", kDelay, {{4, true, 0}, {4, true, 0}, {1, true, 0}}, 1, Action::kRun, 2, 0},
        Case{"ARequestThatDoesNotFitClosesTheBatch", kDelay, {{6, true, 0}, {4, true, 0}}, 1, Action::kRun, 1, 0},
        Case{"OrderIsKeptThoughALaterOneWouldFit",
             kDelay,
             {{6, true, 0}, {4, true, 0}, {2, true, 0}},
             1,
             Action::kRun,
             1,
             0},
        Case{"AnotherShapeClosesTheBatch", kDelay, {{1, true, 0}, {1, true, 0}, {1, false, 0}}, 1, Action::kRun, 2, 0},
        Case{"AnotherShapeBehindAnotherShapeIsNotLookedAt",
             kDelay,
             {{1, true, 0}, {1, false, 0}, {1, true, 0}},
             1,
             Action::kRun,
             1,
             0},
        Case{"TheFirstRequestIsItsOwnShape", kDelay, {{1, false, 0}}, 1, Action::kWait, 0, 100},
        Case{"APreferredSizeRunsAtOnce", kPreferred, {{2, true, 0}, {2, true, 0}}, 1, Action::kRun, 2, 0},
        Case{"BelowAPreferredSizeItWaits", kPreferred, {{2, true, 0}, {1, true, 0}}, 1, Action::kWait, 0, 100},
        Case{"AboveAPreferredSizeThatSizeRuns", kPreferred, {{4, true, 0}, {1, true, 0}}, 1, Action::kRun, 1, 0},
        Case{"TheLargestPreferredSizeWins",
             kPreferred,
             {{4, true, 0}, {4, true, 0}, {3, true, 0}},
             1,
             Action::kRun,
             2,
             0},
        Case{"RowsCountNotRequests", kPreferred, {{8, true, 0}}, 1, Action::kRun, 1, 0},
        Case{"OverdueRequestsRunWhole", kPreferred, {{4, true, 0}, {1, true, 0}}, 100, Action::kRun, 2, 0},
        Case{"AFullBatchBeatsAPreferredOne", kPreferred, {{8, true, 0}, {8, true, 0}}, 1, Action::kRun, 2, 0},
        Case{"PreferredSizesHoldWithoutDelay", kPreferredNoDelay, {{4, true, 0}, {1, true, 0}}, 0, Action::kRun, 1, 0},
        Case{"WithoutDelayASmallerBatchDoesNotWait", kPreferredNoDelay, {{3, true, 0}}, 0, Action::kRun, 1, 0}),
    [](const testing::TestParamInfo<Case>& row) { return row.param.name; });

TEST(BatchPolicy, ForgetsWhatWasTaken) {
  BatchPolicy policy(kDelay);
  policy.add(8, true, at(0));
  EXPECT_TRUE(policy.closed());
  policy.clear();
  EXPECT_FALSE(policy.closed());
  EXPECT_EQ(policy.decide(at(1000)).action, Action::kNothing);
  policy.add(1, true, at(900));
  EXPECT_EQ(policy.decide(at(950)).until, at(1000));
}

TEST(BatchPolicy, ABatchBeginsInTimeForTheEarliestDeadlineOfItsRequests) {
  BatchPolicy policy(kDelay);
  policy.add(1, true, at(0), at(200));
  policy.add(1, true, at(10), at(90));
  const BatchPace pace{.run = microseconds(30)};
  EXPECT_EQ(policy.decide(at(20), pace).until, at(60));
  EXPECT_EQ(policy.decide(at(60), pace).action, Action::kRun);
  policy.clear();
  policy.add(1, true, at(0));
  EXPECT_EQ(policy.decide(at(20), pace).until, at(100)) << "that deadline is forgotten";
}

TEST(BatchPolicy, AnAdaptiveDelayEndsWhenItNoLongerPaysAndAtItsLimit) {
  BatchLimits limits = kDelay;
  limits.adaptive = true;
  BatchPolicy policy(limits);
  policy.add(1, true, at(0));
  EXPECT_EQ(policy.decide(at(20), {.delay_pays_until = at(70)}).until, at(70));
  EXPECT_EQ(policy.decide(at(20), {.delay_pays_until = at(170)}).until, at(100));
  EXPECT_EQ(policy.decide(at(20), {.delay_pays_until = at(20)}).action, Action::kRun);
  limits.max_delay = {};
  BatchPolicy unlimited(limits);
  unlimited.add(1, true, at(0));
  EXPECT_EQ(unlimited.decide(at(20), {.delay_pays_until = at(170)}).until, at(170));
}

TEST(BatchPolicy, FlushesEverythingAtTheEndOfTime) {
  BatchPolicy policy(kDelay);
  policy.add(1, true, at(0));
  EXPECT_EQ(policy.decide(TimePoint::max()).action, Action::kRun);
}

}  // namespace
}  // namespace ridge::serve
