// Tuning end to end on the scripted engine: real sessions, threads and store on a fake clock, so every figure is known.
#include "tune/tuner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/fake_clock.h"
#include "base/temporary_folder.h"
#include "tune/row_check.h"
#include "tune/space.h"
#include "tune/test_layout.h"

namespace ridge::tune {
namespace {

namespace fs = std::filesystem;

// A run takes 4 ms and 0.2 ms per row, shorter with more threads; so large batches and several instances win.
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
    options_.interrupted = [this] { return stop_; };
  }

  std::unique_ptr<InterleavedBenchmark> benchmark(const plan::Plan& plan) {
    BenchmarkOptions how;
    how.interrupted = options_.interrupted;
    how.slice = std::chrono::milliseconds(15);
    Result<std::unique_ptr<InterleavedBenchmark>> opened = InterleavedBenchmark::open({{plan}}, how, clock_);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? std::move(*opened) : nullptr;
  }
  std::string store_file() const { return (folder_ / "tune.sqlite").string(); }

  FakeClock clock_;
  StoreKey key_{"machine", "fake", "model", "x"};
  TemporaryFolder temporary_ = *TemporaryFolder::make();
  fs::path folder_ = temporary_.path();
  TuneOptions options_;
  bool stop_ = false;
};

// 100 W, counted every 20 ms like a GPU's counter. In a slice of 15 ms it would often not move; in one of ten steps it
// always does, and misses at most one of them.
TEST_F(TunerTest, MeasuresEnergyOverSlicesThatTheCounterCanSee) {
  constexpr double kStep = 0.02;
  auto counted = [this] {
    const double steps = std::floor(to_seconds(clock_.now().time_since_epoch()) / kStep);
    return Result<int64_t>(static_cast<int64_t>(100 * steps * kStep * 1e6));
  };
  machine::EnergyMeter meter = *machine::EnergyMeter::of_counters({{"GPU", counted, 0}}, kStep);
  BenchmarkOptions how;
  how.slice = std::chrono::milliseconds(15);
  how.seconds = 1;
  how.energy = &meter;
  auto opened = InterleavedBenchmark::open({{scripted()}}, how, clock_);
  ASSERT_TRUE(opened) << opened.error().message;
  const Result<Trial> trial = (*opened)->measure(laid_out(1, 1, 4), Effort::kShort);
  ASSERT_TRUE(trial) << trial.error().message;
  for (const Side& side : {trial->baseline, trial->candidate})
    EXPECT_NEAR(side.joules_per_row * side.rows_per_s, 100, 10) << "[W]; one step of ten";
  EXPECT_EQ(trial->energy_log_ratios.size(), trial->rate_log_ratios.size());
}

TEST_F(TunerTest, ATrialIsExactOnAQuietMachine) {
  auto benchmark = this->benchmark(scripted());
  const Result<Trial> trial = benchmark->measure(laid_out(1, 2, 4), Effort::kLong);
  ASSERT_TRUE(trial) << trial.error().message;
  ASSERT_EQ(trial->rate_log_ratios.size(), 8u);
  for (double ratio : trial->rate_log_ratios) EXPECT_NEAR(std::exp(ratio), (2 * 4 / 4.8) / (1 / 4.2), 1e-9);
  for (double ratio : trial->latency_log_ratios) EXPECT_NEAR(std::exp(ratio), 4.2 / 4.8, 1e-9);
  EXPECT_TRUE(trial->energy_log_ratios.empty());
  EXPECT_NEAR(trial->baseline.rows_per_s, 1e3 / 4.2, 1e-9);
  EXPECT_NEAR(trial->candidate.rows_per_s, 8e3 / 4.8, 1e-9);
  EXPECT_DOUBLE_EQ(trial->candidate.latency_ms.p99, 4.8);
  EXPECT_DOUBLE_EQ(trial->candidate.stages_ms.compute, 4.8);
  EXPECT_DOUBLE_EQ(trial->candidate.stages_ms.first_run, 4.8);
  EXPECT_NEAR(trial->candidate.ci95_percent, 0, 1e-9);
}

// A run of the candidate takes 600 ms: the time of a short trial, a twentieth of 3 s, ends in its first round.
TEST_F(TunerTest, ATrialHasItsLeastRoundsEvenIfTheTimeIsOver) {
  BenchmarkOptions how;
  how.seconds = 3;
  auto opened = InterleavedBenchmark::open({{scripted({{"latency_ms_per_row", "300"}})}}, how, clock_);
  ASSERT_TRUE(opened);
  const Result<Trial> trial = (*opened)->measure(laid_out(1, 1, 2), Effort::kShort);
  ASSERT_TRUE(trial);
  EXPECT_EQ(trial->rate_log_ratios.size(), 2u);
}

TEST_F(TunerTest, FindsTheLayoutThatTheScriptFavours) {
  auto benchmark = this->benchmark(scripted());
  Store store(store_file(), key_);
  Search search(small_space(), options_.goal);
  const Result<Exploration> explored = explore(search, *benchmark, store, options_);
  ASSERT_TRUE(explored) << explored.error().message;
  const Result<Trial> untuned = benchmark->measure(baseline_candidate(), Effort::kShort);
  ASSERT_TRUE(untuned);
  const Result<Decision> decision = confirm(search, *benchmark, *explored, *untuned, options_);
  ASSERT_TRUE(decision) << decision.error().message;
  EXPECT_EQ(decision->choice, Choice::kCandidate);
  EXPECT_EQ(text(decision->candidate), text(laid_out(1, 2, 4)));
  EXPECT_NEAR(decision->gain.ratio, 7, 1e-9);  // 2 × 4 rows in 4.8 ms against 1 row in 4.2 ms
  EXPECT_NEAR(decision->gain.low, 7, 1e-9);
  EXPECT_DOUBLE_EQ(decision->trial.baseline.latency_ms.p50, 4.2);
  EXPECT_EQ(decision->trial.rate_log_ratios.size(), 16u);
}

TEST_F(TunerTest, BaselineStandsWhereNothingIsBetter) {
  auto benchmark = this->benchmark(scripted({{"parallel", "1"}, {"latency_ms", "0"}, {"latency_ms_per_row", "3"}}));
  Store store(store_file(), key_);
  Space same;  // as fast as the baseline
  same.entries = {{laid_out(1, 1, 1), 0, 0, 0}, {laid_out(1, 1, 2), 0, 0, 0}};
  Search search(same, options_.goal);
  const Result<Exploration> explored = explore(search, *benchmark, store, options_);
  ASSERT_TRUE(explored);
  for (const Standing& standing : search.measured()) EXPECT_NEAR(standing.gain.ratio, 1, 1e-9);
  const Result<Trial> untuned = benchmark->measure(baseline_candidate(), Effort::kShort);
  const Result<Decision> decision = confirm(search, *benchmark, *explored, *untuned, options_);
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->choice, Choice::kBaseline);
  EXPECT_EQ(decision->candidate, baseline_candidate());
  EXPECT_EQ(decision->gain.ratio, 1);
  EXPECT_EQ(decision->gain.low, 1) << "the untuned model gains nothing over itself, and that is certain";
  EXPECT_EQ(decision->gain.high, 1);
}

// On a busy machine a gain seems better with confidence, by 3 or by 70 times.
TEST_F(TunerTest, AGainOfAnySizeIsNoGain) {
  EXPECT_TRUE(is_sure({3, 2, 5}));
  EXPECT_FALSE(is_sure({3, 0.9, 5}));
  EXPECT_FALSE(is_sure({15, 3, 75}));
  auto benchmark = this->benchmark(scripted());
  Search search(small_space(), options_.goal);
  const Candidate fast = laid_out(1, 2, 4);
  const std::vector<double> gains{std::log(5), std::log(30), std::log(8), std::log(40)};
  search.report(fast, {gains, {4e3 / 4.8, 4.8, 4.8, 0, 10}, {1e3 / 4.2, 4.2, 4.2}, ""});
  ASSERT_GT(search.best()->gain.low, 1);
  const Result<Trial> untuned = benchmark->measure(baseline_candidate(), Effort::kShort);
  options_.late = [] { return true; };
  const Result<Decision> decision = confirm(search, *benchmark, {}, *untuned, options_);
  ASSERT_TRUE(decision) << decision.error().message;
  EXPECT_EQ(decision->choice, Choice::kBaseline);
}

TEST_F(TunerTest, WhatTheConfirmationDoesNotBearOutIsWithdrawn) {
  auto benchmark = this->benchmark(scripted());
  Search search(small_space(), options_.goal);
  const Candidate slow = laid_out(1, 1, 1), fast = laid_out(1, 2, 4);
  search.report(slow, {std::vector<double>(4, std::log(20)), {20e3 / 4.2, 4.2, 4.2, 0, 10}, {1e3 / 4.2, 4.2, 4.2}, ""});
  const Result<Trial> trial = benchmark->measure(fast, Effort::kShort);
  ASSERT_TRUE(trial);
  search.report(fast, outcome_of(*trial, fast, Objective::kThroughput));
  ASSERT_EQ(text(search.best()->candidate), text(slow));
  const Result<Trial> untuned = benchmark->measure(baseline_candidate(), Effort::kShort);
  const Result<Decision> decision = confirm(search, *benchmark, {}, *untuned, options_);
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->choice, Choice::kCandidate);
  EXPECT_EQ(text(decision->candidate), text(fast)) << "the next best has its chance";
  EXPECT_EQ(search.skipped().front().count, 1);
}

// One that led by chance is lowered by its confirmation; the answer is then the one that leads, confirmed or not.
TEST_F(TunerTest, TheAnswerLeadsWhatWasMeasured) {
  for (const bool time_for_another : {false, true}) {
    auto benchmark = this->benchmark(scripted());
    Search search(small_space(), options_.goal);
    const Candidate lucky = laid_out(1, 1, 4), fast = laid_out(1, 2, 4);
    search.report(lucky,
                  {std::vector<double>(4, std::log(20)), {4e3 / 4.8, 4.8, 4.8, 0, 10}, {1e3 / 4.2, 4.2, 4.2}, ""});
    const Result<Trial> trial = benchmark->measure(fast, Effort::kShort);
    ASSERT_TRUE(trial);
    search.report(fast, outcome_of(*trial, fast, Objective::kThroughput));
    ASSERT_EQ(text(search.best()->candidate), text(lucky));
    const Result<Trial> untuned = benchmark->measure(baseline_candidate(), Effort::kShort);
    int confirmations = 0;
    options_.progress = [&](const std::string&, double) { ++confirmations; };
    options_.late = [&] { return !time_for_another && confirmations > 0; };
    const Result<Decision> decision =
        confirm(search, *benchmark, Exploration{{{fast, *trial}}, 0, false}, *untuned, options_);
    ASSERT_TRUE(decision) << decision.error().message;
    EXPECT_EQ(text(search.best()->candidate), text(fast));
    EXPECT_EQ(text(decision->candidate), text(fast));
    EXPECT_EQ(decision->choice, Choice::kCandidate);
    EXPECT_EQ(decision->confirmed, time_for_another);
    EXPECT_EQ(confirmations, time_for_another ? 2 : 1);
    EXPECT_EQ(decision->trial.rate_log_ratios.size(), time_for_another ? 16u : 4u);
  }
}

TEST_F(TunerTest, SecondRunReusesWhatTheFirstMeasured) {
  auto benchmark = this->benchmark(scripted());
  int first_trials = 0;
  {
    Store store(store_file(), key_);
    Search search(small_space(), options_.goal);
    Result<Exploration> explored = explore(search, *benchmark, store, options_);
    ASSERT_TRUE(explored);
    EXPECT_EQ(explored->reused, 0);
    first_trials = search.trials();
  }
  Store store(store_file(), key_);
  Search search(small_space(), options_.goal);
  Result<Exploration> again = explore(search, *benchmark, store, options_);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->reused, first_trials);
  EXPECT_EQ(search.trials(), first_trials);
}

TEST_F(TunerTest, InterruptedSearchKeepsItsBestAndMeasuresNothingMore) {
  auto benchmark = this->benchmark(scripted());
  Store store(store_file(), key_);
  Search search(small_space(), options_.goal);
  Result<Trial> untuned = benchmark->measure(baseline_candidate(), Effort::kShort);
  ASSERT_TRUE(untuned);
  options_.progress = [this, &search](const std::string&, double) { stop_ = search.trials() >= 2; };
  Result<Exploration> explored = explore(search, *benchmark, store, options_);
  ASSERT_TRUE(explored);
  EXPECT_TRUE(explored->interrupted);
  EXPECT_EQ(search.trials(), 2);
  Result<Decision> decision = confirm(search, *benchmark, *explored, *untuned, options_);
  ASSERT_TRUE(decision);
  EXPECT_TRUE(decision->interrupted);
  EXPECT_EQ(decision->choice, choose(leader_of(search), true));
  EXPECT_GT(decision->trial.candidate.samples, 0);
  EXPECT_EQ(search.trials(), 2);
}

TEST_F(TunerTest, NothingMeetsAnImpossibleGoal) {
  options_.goal.p99_ms = 1;
  auto benchmark = this->benchmark(scripted());
  Store store(store_file(), key_);
  Search search(small_space(), options_.goal);
  Result<Exploration> explored = explore(search, *benchmark, store, options_);
  ASSERT_TRUE(explored);
  Result<Trial> untuned = benchmark->measure(baseline_candidate(), Effort::kShort);
  Result<Decision> decision = confirm(search, *benchmark, *explored, *untuned, options_);
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->choice, Choice::kNone);
  EXPECT_GT(decision->trial.candidate.latency_ms.p99, 1);
}

// The session's first run opens it, the third is in the first counted slice.
TEST_F(TunerTest, CandidateThatCannotRunIsATrialWithItsReason) {
  auto benchmark = this->benchmark(scripted());
  Candidate failing = laid_out(1, 1, 2);
  failing.options = {{"fail_runs", "[3]"}};
  const Result<Trial> failed = benchmark->measure(failing, Effort::kShort);
  ASSERT_TRUE(failed) << failed.error().message;
  EXPECT_EQ(failed->failure, "the fake engine fails run 3 as its script says");
  const Result<Trial> trial = benchmark->measure(laid_out(1, 1, 2), Effort::kShort);
  ASSERT_TRUE(trial);
  EXPECT_EQ(trial->failure, "");
}

TEST_F(TunerTest, AnUntunedModelThatFailsIsAnError) {
  auto benchmark = this->benchmark(scripted({{"fail_runs", "[40]"}}));
  Result<Trial> trial = Trial{};
  for (int i = 0; i < 10 && trial; ++i) trial = benchmark->measure(laid_out(1, 1, 1), Effort::kShort);
  ASSERT_FALSE(trial);
  EXPECT_EQ(trial.error().code, Code::kFailed);
}

TEST_F(TunerTest, BatchingIsPossibleWhereRowsAreIndependent) {
  Batching batching = check_batching(*benchmark(scripted()), baseline_candidate());
  EXPECT_TRUE(batching.possible) << batching.reason;
}

TEST_F(TunerTest, FixedFirstDimensionRulesBatchingOutAndSaysSo) {
  auto benchmark = this->benchmark(scripted({{"inputs", R"([{"name":"x","type":"FP32","shape":[1,16]}])"},
                                             {"outputs", R"([{"name":"y","type":"FP32","shape":[1,16]}])"}}));
  Batching batching = check_batching(*benchmark, baseline_candidate());
  EXPECT_FALSE(batching.possible);
  EXPECT_NE(batching.reason.find("'x'"), std::string::npos) << batching.reason;
}

TEST_F(TunerTest, TunedOutputsEqualTheUntunedOnes) {
  Result<precision::Deviation> deviation = tune::deviation(*benchmark(scripted()), laid_out(1, 2, 4));
  ASSERT_TRUE(deviation) << deviation.error().message;
  EXPECT_EQ(deviation->max_abs, 0);
  EXPECT_EQ(deviation->top1_agreement, 1);
}

TEST(Choose, NeverAnythingThatIsNotBetterWithConfidence) {
  auto outcome = [](std::vector<double> gains, double p99_ms) {
    Outcome result;
    result.gains = std::move(gains);
    result.candidate = {.p50_ms = p99_ms, .p99_ms = p99_ms, .samples = 10};
    return result;
  };
  Space space;
  space.entries = {{laid_out(1, 1, 1), 0, 0, 0}};
  Goal goal;
  Search unsure(space, goal);
  EXPECT_EQ(choose(leader_of(unsure), true), Choice::kBaseline) << "nothing measured";
  unsure.report(laid_out(1, 1, 1), outcome({0.3, -0.2, 0.1, 0.2}, 5));
  EXPECT_EQ(choose(leader_of(unsure), true), Choice::kBaseline) << "ahead, but within the noise";
  Search sure(space, goal);
  sure.report(laid_out(1, 1, 1), outcome({0.10, 0.11, 0.09, 0.10}, 5));
  EXPECT_EQ(choose(leader_of(sure), true), Choice::kCandidate);
  Goal tight{Objective::kThroughput, 7.0};
  Search slower(space, tight);
  slower.report(laid_out(1, 1, 1), outcome({-0.3, -0.31, -0.3, -0.29}, 5));
  EXPECT_EQ(choose(leader_of(slower), false), Choice::kCandidate) << "slower, but the baseline misses the goal";
  EXPECT_EQ(choose(leader_of(slower), true), Choice::kBaseline) << "the baseline meets it";
  Search late(space, tight);
  late.report(laid_out(1, 1, 1), outcome({0.3, 0.3, 0.31, 0.3}, 9));
  EXPECT_EQ(choose(leader_of(late), false), Choice::kNone);
}

// Batch 1 was measured while other processes had half of the machine: the untuned model made 50 rows/s then and makes
// 100 now. Unscaled, batches of 4 would seem to gain 4 times; they gain twice.
TEST_F(TunerTest, TheCurveOverTheBatchIsOfOneSpeedOfTheMachine) {
  auto benchmark = this->benchmark(scripted());
  Store store(store_file(), key_);
  Search search(small_space(), options_.goal);
  const double twice = std::log(2), thrice = std::log(3);
  Outcome slow{{twice, twice}, {100, 10, 12}, {50, 20, 24}, ""};
  Outcome usual{{thrice, thrice}, {300, 6, 7}, {100, 10, 12}, ""};
  search.report(laid_out(1, 2, 1), slow);
  search.report(laid_out(1, 2, 2), usual);
  Decision decision;
  decision.choice = Choice::kCandidate;
  decision.candidate = laid_out(1, 2, 4);
  decision.trial.baseline.rows_per_s = 100;
  decision.trial.candidate.rows_per_s = 400;
  const auto curve = measure_curve(decision, 4, search, *benchmark, store, options_);
  ASSERT_TRUE(curve) << curve.error().message;
  ASSERT_EQ(curve->points.size(), 3u);
  EXPECT_NEAR(curve->points.at(0).figures.rows_per_s, 200, 1e-9);
  EXPECT_NEAR(curve->points.at(0).figures.p50_ms, 5, 1e-9);
  EXPECT_NEAR(curve->points.at(0).figures.p99_ms, 6, 1e-9);
  EXPECT_NEAR(curve->points.at(1).figures.rows_per_s, 300, 1e-9);
  EXPECT_NEAR(curve->points.at(2).figures.rows_per_s, 400, 1e-9);
}

TEST_F(TunerTest, TheCurveCountsWhatItLeftOutForLackOfTimeAndNotWhatFailed) {
  auto benchmark = this->benchmark(scripted());
  Store store(store_file(), key_);
  const Search search(small_space(), options_.goal);
  Decision decision;
  decision.choice = Choice::kCandidate;
  decision.candidate = laid_out(1, 2, 4);
  decision.candidate.options = {{"fail_runs", "[3]"}};
  decision.trial.baseline.rows_per_s = 100;
  decision.trial.candidate.rows_per_s = 400;
  ASSERT_EQ(curve_batches(decision.candidate, 4), (std::vector<int64_t>{1, 2, 4}));
  const auto failed = measure_curve(decision, 4, search, *benchmark, store, options_);
  ASSERT_TRUE(failed) << failed.error().message;
  EXPECT_EQ(failed->points.size(), 1u);
  EXPECT_EQ(failed->late, 0);
  options_.late = [] { return true; };
  const auto late = measure_curve(decision, 4, search, *benchmark, store, options_);
  ASSERT_TRUE(late) << late.error().message;
  EXPECT_EQ(late->points.size(), 1u);
  EXPECT_EQ(late->late, 2);
}

}  // namespace
}  // namespace ridge::tune
