#include "tune/search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "measure/statistics.h"
#include "tune/front.h"
#include "tune/test_layout.h"

namespace ridge::tune {
namespace {

// rows/s of a candidate, before noise. The baseline makes kBaseline.
using Surface = std::function<double(const Candidate&)>;
constexpr double kBaseline = 100;
constexpr double kBaselineMs = 10;

// Threads × instances within 16 CPUs, batches to 32, spinning on and off; limits unknown.
Space grid() {
  Space space;
  for (int threads : {1, 2, 4, 8, 16})
    for (int instances = 1; threads * instances <= 16; instances *= 2)
      for (int64_t batch : {1, 2, 4, 8, 16, 32}) {
        Candidate candidate = laid_out(threads, instances, batch);
        space.entries.push_back({candidate, 0, 0, 0});
        candidate.spin = plan::Spin::kOff;
        if (threads > 1) space.entries.push_back({candidate, 0, 0, 0});
      }
  return space;
}

double bump(double x, double centre, double width) { return std::exp(-std::pow((std::log2(x) - centre) / width, 2)); }

// Smooth, with its top at 4 threads, 4 instances, batch 8, no spinning.
double smooth(const Candidate& c) {
  double busy = static_cast<double>(c.threads * c.instances) / 16;
  double value = 260 * std::sqrt(busy) * bump(c.threads, 2, 3) * bump(static_cast<double>(c.batch), 3, 4);
  return c.spin == plan::Spin::kOff ? value * 1.06 : value;
}

// Feeds the search from a surface; noise is multiplicative per slice pair, in percent.
class Laboratory {
 public:
  Laboratory(Surface surface, double noise_percent, unsigned seed)
      : surface_(std::move(surface)), noise_(0, noise_percent / 100), random_(seed) {}

  Outcome measure(const Probe& probe) {
    Outcome outcome;
    double rows = surface_(probe.candidate);
    int pairs = probe.effort == Effort::kShort ? 4 : 10;
    for (int i = 0; i < pairs; ++i) outcome.gains.push_back(std::log(rows / kBaseline) + noise_(random_));
    outcome.candidate.rows_per_s = rows;
    outcome.candidate.p50_ms = 1e3 * static_cast<double>(probe.candidate.batch * probe.candidate.instances) / rows;
    outcome.candidate.p99_ms = 1.2 * outcome.candidate.p50_ms;
    outcome.baseline.rows_per_s = kBaseline;
    outcome.baseline.p50_ms = kBaselineMs;
    outcome.baseline.p99_ms = 1.2 * kBaselineMs;
    outcome.candidate.samples = 20;
    return outcome;
  }

  void run(Search& search, int most = 1000) {
    for (int i = 0; i < most; ++i) {
      std::optional<Probe> probe = search.next(0);
      if (!probe) return;
      search.report(probe->candidate, measure(*probe));
    }
    ADD_FAILURE() << "the search does not end";
  }

 private:
  Surface surface_;
  std::normal_distribution<double> noise_;
  std::mt19937 random_;
};

double highest(const Space& space, const Surface& surface) {
  double best = 0;
  for (const PricedCandidate& entry : space.entries) best = std::max(best, surface(entry.candidate));
  return best;
}

int count_of(const std::vector<SkipCount>& skipped, const std::string& id) {
  int count = 0;
  for (const SkipCount& entry : skipped)
    if (id.empty() || entry.reason.id == id) count += entry.count;
  return count;
}

TEST(Search, ReachesNinetyFivePercentOfTheOptimumMeasuringAMinority) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    Space space = grid();
    Search search(space, Goal{});
    Laboratory(smooth, 3, seed).run(search);
    ASSERT_TRUE(search.best());
    EXPECT_GE(smooth(search.best()->candidate), 0.95 * highest(space, smooth)) << text(search.best()->candidate);
    EXPECT_LT(search.measured().size(), space.entries.size() / 2);
  }
}

TEST(Search, FindsAnOptimumAtTheEdgeOfTheSpace) {
  auto one_per_thread = [](const Candidate& c) { return 20.0 * c.instances * (1 + 0.05 * std::log2(c.batch)); };
  Space space = grid();
  Search search(space, Goal{});
  Laboratory(one_per_thread, 2, 7).run(search);
  EXPECT_GE(one_per_thread(search.best()->candidate), 0.95 * highest(space, one_per_thread));
}

TEST(Search, MeasuresShortFirstAndContendersAgainForLonger) {
  Search search(grid(), Goal{});
  Laboratory laboratory(smooth, 3, 1);
  bool again = false;
  std::map<std::string, int> measured_before;
  while (std::optional<Probe> probe = search.next(0)) {
    again = again || probe->ordinal > 0;
    EXPECT_EQ(probe->ordinal > 0, probe->effort == Effort::kLong);
    EXPECT_EQ(probe->ordinal, measured_before[text(probe->candidate)]++);
    search.report(probe->candidate, laboratory.measure(*probe));
  }
  EXPECT_TRUE(again);
}

TEST(Search, MeasuresAWholeGridAndThenItsContendersUntilTheyCanBeToldApart) {
  Search search(grid(), Goal{}, 0, Strategy::kFull);
  Laboratory(smooth, 10, 1).run(search);
  EXPECT_EQ(search.measured().size(), grid().entries.size());
  EXPECT_GE(search.best()->trials, 3);
  EXPECT_GE(smooth(search.best()->candidate), 0.97 * highest(grid(), smooth)) << text(search.best()->candidate);
}

TEST(Search, SkipsCandidatesWhoseLimitIsBelowTheBestAndCountsThem) {
  Space space = grid();
  for (PricedCandidate& entry : space.entries) {
    entry.max_rows_per_s = smooth(entry.candidate) * 1.05;
    entry.bound_ms =
        1e3 * static_cast<double>(entry.candidate.batch * entry.candidate.instances) / entry.max_rows_per_s;
  }
  Search bounded(space, Goal{});
  Laboratory(smooth, 1, 3).run(bounded);
  Search unbounded(grid(), Goal{});
  Laboratory(smooth, 1, 3).run(unbounded);
  EXPECT_LT(bounded.measured().size(), unbounded.measured().size());
  EXPECT_GT(count_of(bounded.skipped(), "bound-below-best"), 20);
  EXPECT_GE(smooth(bounded.best()->candidate), 0.95 * highest(space, smooth));
}

TEST(Search, WidensTheLimitsWhenAMeasurementExceedsItsOwn) {
  Space space;
  space.entries = {{laid_out(1, 1, 1), 10, 50, 0},
                   {laid_out(2, 1, 2), 9, 110, 0}};  // the first limit is wrong by a factor of 3
  Search search(space, Goal{});
  Laboratory laboratory([](const Candidate&) { return 150.0; }, 0.1, 1);
  search.report(laid_out(1, 1, 1), laboratory.measure({laid_out(1, 1, 1), Effort::kShort, 0}));
  std::optional<Probe> next = search.next(0);
  while (next && next->candidate == laid_out(1, 1, 1)) {
    search.report(next->candidate, laboratory.measure(*next));
    next = search.next(0);
  }
  ASSERT_TRUE(next) << "110 rows/s × 3 may still beat 150";
  EXPECT_EQ(next->candidate, laid_out(2, 1, 2));
}

TEST(Search, PrefersTheFastestCandidateThatMeetsTheGoal) {
  Space space = grid();
  Goal goal{Objective::kThroughput, 60.0};
  Search search(space, goal);
  Laboratory laboratory(smooth, 2, 5);
  laboratory.run(search);
  double best_feasible = 0;
  for (const PricedCandidate& entry : space.entries) {
    double rows = smooth(entry.candidate);
    double p99 = 1.2e3 * static_cast<double>(entry.candidate.batch * entry.candidate.instances) / rows;
    if (p99 <= 60) best_feasible = std::max(best_feasible, rows);
  }
  ASSERT_TRUE(search.best() && search.best()->feasible);
  EXPECT_LE(search.best()->outcome.candidate.p99_ms, 60);
  EXPECT_GE(smooth(search.best()->candidate), 0.93 * best_feasible);
}

TEST(Search, SaysTheClosestCandidateWhenNoneMeetsTheGoal) {
  Search search(grid(), Goal{Objective::kThroughput, 0.001});
  Laboratory(smooth, 2, 5).run(search);
  ASSERT_TRUE(search.best());
  EXPECT_FALSE(search.best()->feasible);
  for (const Standing& other : search.measured())
    EXPECT_GE(other.outcome.candidate.p99_ms, search.best()->outcome.candidate.p99_ms);
  EXPECT_GT(count_of(search.skipped(), "smaller-batch-misses-goal"), 0);
}

TEST(Search, GoesOnAfterACandidateThatFails) {
  Search search(grid(), Goal{});
  Laboratory laboratory(smooth, 2, 5);
  while (std::optional<Probe> probe = search.next(0)) {
    Outcome outcome = laboratory.measure(*probe);
    if (probe->candidate.batch > 4) outcome.failure = "out of memory";
    search.report(probe->candidate, outcome);
  }
  ASSERT_TRUE(search.best());
  EXPECT_LE(search.best()->candidate.batch, 4);
  EXPECT_GT(count_of(search.skipped(), "failed"), 0);
}

TEST(Search, TriesNothingNewLateInTheBudgetAndStopsAtItsEnd) {
  Search search(grid(), Goal{});
  Laboratory laboratory(smooth, 2, 5);
  for (int i = 0; i < 3; ++i) {
    std::optional<Probe> probe = search.next(0.1);
    search.report(probe->candidate, laboratory.measure(*probe));
  }
  std::optional<Probe> late = search.next(0.8);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->effort, Effort::kLong);
  EXPECT_FALSE(search.next(1.0));
}

// ln of throughput^10 / p99, per 10.
double power_of(const Candidate& candidate) {
  const double rows = smooth(candidate);
  return std::log(rows) - std::log(static_cast<double>(candidate.batch * candidate.instances) / rows) / 10;
}

TEST(Search, WithoutAGoalFindsTheKneeAndNotTheHighestThroughput) {
  double most = -HUGE_VAL;
  for (const PricedCandidate& entry : grid().entries) most = std::max(most, power_of(entry.candidate));
  int sooner = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Search search(grid(), Goal{Objective::kBalanced});
    Laboratory(smooth, 2, seed).run(search);
    ASSERT_TRUE(search.best());
    EXPECT_GE(power_of(search.best()->candidate), most - 0.1) << text(search.best()->candidate);
    Search fastest(grid(), Goal{});
    Laboratory(smooth, 2, seed).run(fastest);
    sooner += search.best()->outcome.candidate.p99_ms < fastest.best()->outcome.candidate.p99_ms;
  }
  EXPECT_GE(sooner, 15) << "of 20";
}

TEST(Search, WhatIsSurelyBetterLeadsBeforeWhatOnlySeemsToBe) {
  Search search(grid(), Goal{Objective::kBalanced});
  const auto report = [&](size_t index, std::vector<double> gains, double p99_ms) {
    Outcome outcome;
    outcome.baseline = {.rows_per_s = 100, .p50_ms = 10, .p99_ms = 10};
    outcome.candidate = {.rows_per_s = 100 * std::exp(measure::mean(gains)), .p50_ms = p99_ms, .p99_ms = p99_ms};
    outcome.gains = std::move(gains);
    search.report(grid().entries[index].candidate, outcome);
  };
  report(0, {0.70, 0.72, 0.69, 0.71}, 20);
  report(1, {1.80, -0.40, 1.90, -0.30}, 1);  // the knee by its estimates, but its interval includes 1
  ASSERT_TRUE(search.best());
  EXPECT_EQ(search.best()->candidate, grid().entries[0].candidate);
}

TEST(Search, UnderALoadOnlyWhatCarriesItIsTheAnswer) {
  Goal goal{Objective::kBalanced};
  goal.rows_per_s = 150;  // at most 80 % busy: 187.5 rows/s
  Search search(grid(), goal);
  Laboratory(smooth, 2, 5).run(search);
  ASSERT_TRUE(search.best() && search.best()->feasible);
  EXPECT_GE(smooth(search.best()->candidate), 150 / 0.8);
  goal.rows_per_s = 1000;
  Search beyond(grid(), goal);
  Laboratory(smooth, 2, 5).run(beyond);
  ASSERT_TRUE(beyond.best());
  EXPECT_FALSE(beyond.best()->feasible);
  EXPECT_GE(smooth(beyond.best()->candidate), 0.9 * highest(grid(), smooth)) << "the closest";
}

TEST(Search, StopsAtTheLimitOfTrials) {
  Search search(grid(), Goal{}, 5);
  Laboratory(smooth, 2, 5).run(search);
  EXPECT_EQ(search.trials(), 5);
}

TEST(Search, EveryCandidateIsEitherMeasuredOrSkippedWithAReason) {
  Space space = grid();
  Search search(space, Goal{}, 10);
  Laboratory(smooth, 2, 5).run(search);
  size_t skipped = static_cast<size_t>(count_of(search.skipped(), ""));
  EXPECT_EQ(search.measured().size() + skipped, space.entries.size());
}

TEST(Search, ParetoHoldsOnlyCandidatesThatNoOtherBeatsInBothRateAndLatency) {
  Search search(grid(), Goal{});
  Laboratory(smooth, 2, 5).run(search);
  const std::vector<Standing> pareto = pareto_front(search.measured(), baseline_candidate());
  ASSERT_GT(pareto.size(), 1u);
  for (size_t i = 1; i < pareto.size(); ++i) {
    EXPECT_LT(pareto[i].outcome.candidate.rows_per_s, pareto[i - 1].outcome.candidate.rows_per_s);
    EXPECT_LT(pareto[i].outcome.candidate.p50_ms, pareto[i - 1].outcome.candidate.p50_ms);
  }
}

TEST(Search, AnEmptySpaceHasNoBest) {
  Search search(Space{}, Goal{});
  EXPECT_FALSE(search.next(0));
  EXPECT_FALSE(search.best());
}

TEST(Gain, OfOnePairIsKnownWithoutPrecision) {
  Gain gain = gain_of(std::vector<double>{std::log(2.0)});
  EXPECT_DOUBLE_EQ(gain.ratio, 2);
  EXPECT_EQ(gain.low, 0);
  EXPECT_TRUE(std::isinf(gain.high));
}

}  // namespace
}  // namespace ridge::tune
