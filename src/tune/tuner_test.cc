// Tuning end to end on the scripted engine: real sessions, threads, clock and store, known answer.
#include "tune/tuner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>

#include "base/temporary_folder.h"
#include "tune/space.h"
#include "tune/test_layout.h"

namespace ridge::tune {
namespace {

namespace fs = std::filesystem;

// A run sleeps 4 ms and 0.2 ms per row, shorter with more threads; so large batches and several instances win.
plan::Plan scripted(const std::map<std::string, std::string>& more = {}) {
  plan::Plan plan;
  plan.model = "scripted";
  plan.engine = "fake";
  plan.shapes["x"] = {1, 16};
  plan.options = {{"latency_ms", "4"}, {"latency_ms_per_row", "0.2"}};
  for (const auto& [key, value] : more) plan.options[key] = value;
  return plan;
}

Space small_space() {
  Space space;
  for (int instances : {1, 2})
    for (int64_t batch : {1, 2, 4}) space.entries.push_back({laid_out(1, instances, batch), 0, 0, 0});
  return space;
}

class TunerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.seconds = 30;
    options_.interrupted = [this] { return stop_.load(); };
  }

  // Longer slices where the answer depends on rates: a stall of 100 ms then moves one little.
  std::unique_ptr<Contest> contest(const plan::Plan& plan, Nanoseconds slice = std::chrono::milliseconds(15)) {
    ContestOptions how;
    how.interrupted = options_.interrupted;
    how.slice = slice;
    Result<std::unique_ptr<Contest>> opened = Contest::open(plan, nullptr, how);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? std::move(*opened) : nullptr;
  }
  std::string store_file() const { return (folder_ / "tune.sqlite").string(); }

  StoreKey key_{"machine", "fake", "model", "x"};
  TemporaryFolder temporary_ = *TemporaryFolder::make();
  fs::path folder_ = temporary_.path();
  TuneOptions options_;
  std::atomic<bool> stop_ = false;
};

// 100 W, counted every 20 ms as a card's counter does. A slice of 15 ms would often see it stand still; one of ten steps never does, and
// misses at most one of them. On a busy machine threads begin and end late, which takes energy too.
TEST_F(TunerTest, MeasuresEnergyOverSlicesThatTheCounterCanSee) {
  constexpr double kStep = 0.02;
  auto counted = [] {
    const double steps = std::floor(to_seconds(SteadyClock::now().time_since_epoch()) / kStep);
    return Result<int64_t>(static_cast<int64_t>(100 * steps * kStep * 1e6));
  };
  machine::EnergyMeter meter = *machine::EnergyMeter::of_counters({{"card", counted, 0}}, kStep);
  ContestOptions how;
  how.slice = std::chrono::milliseconds(15);
  how.seconds = 1;
  how.energy = &meter;
  auto opened = Contest::open(scripted(), nullptr, how);
  ASSERT_TRUE(opened) << opened.error().message;
  Result<Trial> trial = (*opened)->measure(laid_out(1, 1, 4), Effort::kShort);
  ASSERT_TRUE(trial) << trial.error().message;
  for (const Side& side : {trial->baseline, trial->candidate}) {
    EXPECT_GT(side.joules_per_row * side.rows_per_s, 80) << "[W]";
    EXPECT_LT(side.joules_per_row * side.rows_per_s, 400);
  }
  EXPECT_EQ(trial->energy_log_ratios.size(), trial->rate_log_ratios.size());
}

TEST_F(TunerTest, FindsTheLayoutThatTheScriptFavours) {
  auto contest = this->contest(scripted(), std::chrono::milliseconds(60));
  Store store(store_file(), key_);
  Search search(small_space(), options_.goal);
  Result<Explored> explored = explore(search, *contest, store, options_);
  ASSERT_TRUE(explored) << explored.error().message;
  Result<Trial> untuned = contest->measure(baseline_candidate(), Effort::kShort);
  ASSERT_TRUE(untuned);
  Result<Decision> decision = confirm(search, *contest, *explored, *untuned, options_);
  ASSERT_TRUE(decision) << decision.error().message;
  EXPECT_EQ(decision->choice, Choice::kCandidate);
  EXPECT_EQ(text(decision->candidate), text(laid_out(1, 2, 4)));
  // 2 × 4 rows in 4.8 ms against 1 row in 4.2 ms: a factor of 7.
  EXPECT_GT(decision->gain.ratio, 4);
  EXPECT_LT(decision->gain.ratio, 9);
  EXPECT_GE(decision->trial.baseline.latency_ms.p50, 4.2);
  EXPECT_LT(decision->trial.baseline.latency_ms.p50, 12);
}

TEST_F(TunerTest, BaselineStandsWhereNothingIsBetter) {
  auto contest = this->contest(scripted({{"parallel", "1"}, {"latency_ms", "0"}, {"latency_ms_per_row", "3"}}),
                               std::chrono::milliseconds(60));
  Store store(store_file(), key_);
  Space same;  // as fast as the baseline, up to noise
  same.entries = {{laid_out(1, 1, 1), 0, 0, 0}, {laid_out(1, 1, 2), 0, 0, 0}};
  Search search(same, options_.goal);
  Result<Explored> explored = explore(search, *contest, store, options_);
  ASSERT_TRUE(explored);
  Result<Trial> untuned = contest->measure(baseline_candidate(), Effort::kShort);
  Result<Decision> decision = confirm(search, *contest, *explored, *untuned, options_);
  ASSERT_TRUE(decision);
  if (decision->choice == Choice::kCandidate) {
    EXPECT_LT(decision->gain.ratio, 1.1) << "a real gain cannot be there";
    EXPECT_GT(decision->gain.low, 1) << "and then only with confidence";
  } else {
    EXPECT_EQ(decision->candidate, baseline_candidate());
    EXPECT_EQ(decision->gain.ratio, 1);
    EXPECT_EQ(decision->gain.low, 1) << "the untuned model gains nothing over itself, and that is certain";
    EXPECT_EQ(decision->gain.high, 1);
  }
}

TEST_F(TunerTest, SecondRunReusesWhatTheFirstMeasured) {
  auto contest = this->contest(scripted());
  int first_trials = 0;
  {
    Store store(store_file(), key_);
    Search search(small_space(), options_.goal);
    Result<Explored> explored = explore(search, *contest, store, options_);
    ASSERT_TRUE(explored);
    EXPECT_EQ(explored->reused, 0);
    first_trials = search.trials();
  }
  Store store(store_file(), key_);
  Search search(small_space(), options_.goal);
  Result<Explored> again = explore(search, *contest, store, options_);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->reused, first_trials);
  EXPECT_EQ(search.trials(), first_trials);
}

TEST_F(TunerTest, InterruptedSearchKeepsItsBestAndMeasuresNothingMore) {
  auto contest = this->contest(scripted());
  Store store(store_file(), key_);
  Search search(small_space(), options_.goal);
  Result<Trial> untuned = contest->measure(baseline_candidate(), Effort::kShort);
  ASSERT_TRUE(untuned);
  options_.progress = [this, &search](const std::string&, double) { stop_ = search.trials() >= 2; };
  Result<Explored> explored = explore(search, *contest, store, options_);
  ASSERT_TRUE(explored);
  EXPECT_TRUE(explored->interrupted);
  EXPECT_EQ(search.trials(), 2);
  Result<Decision> decision = confirm(search, *contest, *explored, *untuned, options_);
  ASSERT_TRUE(decision);
  EXPECT_TRUE(decision->interrupted);
  EXPECT_EQ(decision->choice, choose(options_.goal, search, untuned->baseline.latency_ms.p99));
  EXPECT_GT(decision->trial.candidate.samples, 0);
  EXPECT_EQ(search.trials(), 2);
}

TEST_F(TunerTest, NothingMeetsAnImpossibleGoal) {
  options_.goal.p99_ms = 1;
  auto contest = this->contest(scripted());
  Store store(store_file(), key_);
  Search search(small_space(), options_.goal);
  Result<Explored> explored = explore(search, *contest, store, options_);
  ASSERT_TRUE(explored);
  Result<Trial> untuned = contest->measure(baseline_candidate(), Effort::kShort);
  Result<Decision> decision = confirm(search, *contest, *explored, *untuned, options_);
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->choice, Choice::kNone);
  EXPECT_GT(decision->trial.candidate.latency_ms.p99, 1);
}

TEST_F(TunerTest, CandidateThatCannotRunIsATrialWithItsReason) {
  auto contest = this->contest(scripted());
  plan::Plan broken = scripted({{"fail_runs", "[3,4,5,6,7,8]"}});
  auto breaking = this->contest(broken);
  Result<Trial> trial = contest->measure(laid_out(1, 1, 2), Effort::kShort);
  ASSERT_TRUE(trial);
  EXPECT_EQ(trial->failure, "");
  Result<Trial> failed = breaking->measure(laid_out(1, 1, 2), Effort::kShort);
  EXPECT_TRUE(!failed || !failed->failure.empty());
}

TEST_F(TunerTest, BatchingIsPossibleWhereRowsAreIndependent) {
  Batching batching = contest(scripted())->check_batching();
  EXPECT_TRUE(batching.possible) << batching.reason;
}

TEST_F(TunerTest, FixedFirstDimensionRulesBatchingOutAndSaysSo) {
  auto contest = this->contest(scripted({{"inputs", R"([{"name":"x","type":"FP32","shape":[1,16]}])"},
                                         {"outputs", R"([{"name":"y","type":"FP32","shape":[1,16]}])"}}));
  Batching batching = contest->check_batching();
  EXPECT_FALSE(batching.possible);
  EXPECT_NE(batching.reason.find("'x'"), std::string::npos) << batching.reason;
}

TEST_F(TunerTest, TunedOutputsEqualTheUntunedOnes) {
  Result<precision::Drift> drift = contest(scripted())->drift(laid_out(1, 2, 4));
  ASSERT_TRUE(drift) << drift.error().message;
  EXPECT_EQ(drift->max_abs, 0);
  EXPECT_EQ(drift->top1_agreement, 1);
}

TEST(Choose, NeverAnythingThatIsNotBetterWithConfidence) {
  auto outcome = [](std::vector<double> gains, double p99_ms) {
    Outcome result;
    result.gains = std::move(gains);
    result.p99_ms = p99_ms;
    result.p50_ms = p99_ms;
    result.samples = 10;
    return result;
  };
  Space space;
  space.entries = {{laid_out(1, 1, 1), 0, 0, 0}};
  Goal goal;
  Search unsure(space, goal);
  EXPECT_EQ(choose(goal, unsure, 10), Choice::kBaseline) << "nothing measured";
  unsure.report(laid_out(1, 1, 1), outcome({0.3, -0.2, 0.1, 0.2}, 5));
  EXPECT_EQ(choose(goal, unsure, 10), Choice::kBaseline) << "ahead, but within the noise";
  Search sure(space, goal);
  sure.report(laid_out(1, 1, 1), outcome({0.10, 0.11, 0.09, 0.10}, 5));
  EXPECT_EQ(choose(goal, sure, 10), Choice::kCandidate);
  Goal tight{Objective::kThroughput, 7.0};
  Search slower(space, tight);
  slower.report(laid_out(1, 1, 1), outcome({-0.3, -0.31, -0.3, -0.29}, 5));
  EXPECT_EQ(choose(tight, slower, 10), Choice::kCandidate) << "slower, but the baseline misses the goal";
  EXPECT_EQ(choose(tight, slower, 6), Choice::kBaseline) << "the baseline meets it";
  Search late(space, tight);
  late.report(laid_out(1, 1, 1), outcome({0.3, 0.3, 0.31, 0.3}, 9));
  EXPECT_EQ(choose(tight, late, 10), Choice::kNone);
}

// Batch 1 was measured while others had half of the machine: the untuned model made 50 rows/s then and makes 100 now. Left as it
// was, batches of 4 would seem to gain 4 times; they gain twice.
TEST_F(TunerTest, TheCurveOverTheBatchIsOfOneSpeedOfTheMachine) {
  auto contest = this->contest(scripted());
  Store store(store_file(), key_);
  Search search(small_space(), options_.goal);
  Outcome slow{{0.7, 0.7}, 100, 10, 12, 50, 20, 24, 0, 0, ""};
  Outcome usual{{1.1, 1.1}, 300, 6, 7, 100, 10, 12, 0, 0, ""};
  search.report(laid_out(1, 2, 1), slow);
  search.report(laid_out(1, 2, 2), usual);
  Decision decision;
  decision.choice = Choice::kCandidate;
  decision.candidate = laid_out(1, 2, 4);
  decision.trial.baseline.rows_per_s = 100;
  decision.trial.candidate.rows_per_s = 400;
  const auto curve = measure_curve(decision, 4, search, *contest, store, options_);
  ASSERT_TRUE(curve) << curve.error().message;
  ASSERT_EQ(curve->size(), 3u);
  EXPECT_NEAR(curve->at(0).rows_per_s, 200, 1e-9);
  EXPECT_NEAR(curve->at(0).p50_ms, 5, 1e-9);
  EXPECT_NEAR(curve->at(0).p99_ms, 6, 1e-9);
  EXPECT_NEAR(curve->at(1).rows_per_s, 300, 1e-9);
  EXPECT_NEAR(curve->at(2).rows_per_s, 400, 1e-9);
}

}  // namespace
}  // namespace ridge::tune
