#include "tune/conclusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridge::tune {
namespace {

using testing::HasSubstr;
using testing::Not;

// An INT8 winner in another engine, judged by the guard.
Tuning judged_winner() {
  Tuning tuning;
  tuning.choice = Choice::kCandidate;
  tuning.candidate.engine = "openvino";
  tuning.candidate.variant = "int8";
  tuning.admission.admitted.resize(2);
  SelectedVariant& admitted = tuning.admission.admitted.back();
  admitted.implementation.engine = "openvino";
  admitted.implementation.variant = "int8";
  admitted.verdict.outputs.resize(1);
  return tuning;
}

TEST(Conclusion, SaysWhenDeviationWasMeasuredOnSyntheticSamplesOnly) {
  Tuning tuning = judged_winner();
  tuning.admission.synthetic = true;
  EXPECT_THAT(conclusion(tuning), HasSubstr("The deviation was measured on synthetic samples only."));
  tuning.admission.synthetic = false;
  EXPECT_THAT(conclusion(tuning), Not(HasSubstr("synthetic")));
}

Tuning faster() {
  Tuning tuning = judged_winner();
  tuning.candidate.threads = 1;
  tuning.candidate.instances = 2;
  tuning.candidate.batch = 32;
  tuning.gain = {8.09, 5.74, 11.4};
  tuning.baseline.engine = "onnxruntime";
  tuning.baseline.throughput_per_s = 8148;
  tuning.baseline.latency_ms.p99 = 0.114;
  tuning.best.throughput_per_s = 65920;
  tuning.best.latency_ms.p99 = 7.94;
  tuning.best.percent_of_limit = 22.7;
  tuning.best.limiter = cost::Limiter::kCompute;
  return tuning;
}

TEST(Conclusion, HasRatioRatesLatenciesLimitAndSettings) {
  const std::string text = conclusion(faster());
  for (const char* part : {"8.09×", "ONNX Runtime's defaults", "5.74–11.4", "65.9 k rows/s", "8.15 k rows/s", "7.94 ms",
                           "114 µs", "22.7 %", "OpenVINO INT8, batch 32, 2 × 1 thread"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(Conclusion, OfAnInterruptedSearchClaimsNothing) {
  for (const Choice choice : {Choice::kCandidate, Choice::kBaseline, Choice::kNone}) {
    Tuning tuning = faster();
    tuning.choice = choice;
    tuning.interrupted = true;
    tuning.confirmed = false;
    tuning.trials = 3;
    const std::string text = conclusion(tuning);
    EXPECT_THAT(text, HasSubstr("Interrupted: not confirmed."));
    EXPECT_THAT(text, HasSubstr("OpenVINO INT8, batch 32, 2 × 1 thread"));
    for (const char* claim : {"8.09", "faster", "CI", "Not reachable", "significantly"})
      EXPECT_THAT(text, Not(HasSubstr(claim)));
  }
}

TEST(Conclusion, AGoalOutOfReachNamesTheClosestWithItsFigures) {
  Tuning tuning = faster();
  tuning.choice = Choice::kNone;
  tuning.goal.p99_ms = 1;
  const std::string text = conclusion(tuning);
  for (const char* part : {"1.00 ms", "7.94 ms", "65.9 k rows/s", "OpenVINO INT8"}) EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("×, ")));
}

TEST(Conclusion, ALoadThatOnlyTheMeasurementRefutedHasNoEmptyReason) {
  Tuning tuning = faster();
  tuning.choice = Choice::kNone;
  tuning.goal.rows_per_s = 100;
  EXPECT_THAT(conclusion(tuning), HasSubstr("p99 7.94 ms of a run."));
  tuning.goal.rows_per_s = 1e6;
  EXPECT_THAT(conclusion(tuning), HasSubstr("p99 7.94 ms of a run: 1.00 M rows/s keep it "));
}

TEST(Conclusion, SaysWhenTheGoalLiesWithinTheIntervalOfP99) {
  Tuning tuning = faster();
  tuning.goal.p99_ms = 8;
  tuning.best.latency_ci95_ms.p99 = {7.5, 7.99};
  EXPECT_FALSE(undecided_goal(tuning));
  EXPECT_THAT(conclusion(tuning), Not(HasSubstr("undecided")));
  tuning.best.latency_ci95_ms.p99 = {7.5, 8.25};
  for (const Choice choice : {Choice::kCandidate, Choice::kBaseline, Choice::kNone}) {
    tuning.choice = choice;
    for (const char* part : {"undecided", "7.50 ms", "8.25 ms"}) EXPECT_THAT(conclusion(tuning), HasSubstr(part));
  }
  tuning.best.latency_ci95_ms.p99.high.reset();
  EXPECT_THAT(conclusion(tuning), HasSubstr("7.50 ms or more"));
  tuning.at_load = share::AtLoad{.request_p99_ms = 6, .request_p99_ci95_ms = {5, 7}};
  EXPECT_FALSE(undecided_goal(tuning)) << "at the load it was measured";
}

TEST(Alternatives, AreOfTheFrontWhereTheyDifferFromTheWinnerBeyondItsInterval) {
  Tuning tuning = faster();
  tuning.goal.objective = Objective::kBalanced;
  tuning.best.throughput_ci95_per_s = {60000, 70000};
  auto point = [](int64_t batch, double rows_per_s, double p99_ms) {
    Standing standing;
    standing.candidate.batch = batch;
    standing.outcome.candidate = {.rows_per_s = rows_per_s, .p50_ms = p99_ms, .p99_ms = p99_ms};
    standing.rate = {.ratio = 2, .low = 1.99, .high = 2.01};
    return standing;
  };
  tuning.pareto = {point(64, 80000, 30), point(2, 9000, 0.05)};
  const std::vector<Alternative> both = alternatives_of(tuning);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].objective, "throughput");
  EXPECT_EQ(both[0].standing.candidate.batch, 64);
  EXPECT_EQ(both[1].objective, "latency");
  EXPECT_EQ(both[1].standing.candidate.batch, 2);
  tuning.pareto = {point(64, 69000, 30)};
  EXPECT_TRUE(alternatives_of(tuning).empty()) << "within the interval, and later";
  tuning.pareto = {point(4, 30000, 7.5)};
  EXPECT_EQ(alternatives_of(tuning).size(), 1u);
  tuning.best.latency_ci95_ms.p99 = {7, 9};
  EXPECT_TRUE(alternatives_of(tuning).empty()) << "its p99 is within the winner's interval";
  tuning.pareto = {point(64, 80000, 30)};
  EXPECT_EQ(alternatives_of(tuning).size(), 1u);
  tuning.goal.objective = Objective::kThroughput;
  EXPECT_TRUE(alternatives_of(tuning).empty()) << "it was asked for";
  tuning.goal.objective = Objective::kBalanced;
  tuning.pareto.front().rate = {.ratio = 2, .low = 0.5, .high = 8};
  EXPECT_TRUE(alternatives_of(tuning).empty()) << "its own interval reaches the winner";
}

TEST(Conclusion, OfWhatWasAheadAndNotConfirmedSaysSo) {
  Tuning tuning = faster();
  tuning.choice = Choice::kBaseline;
  EXPECT_THAT(conclusion(tuning), HasSubstr("nothing was significantly better"));
  count_skip(tuning.skipped, kNotConfirmed);
  EXPECT_THAT(conclusion(tuning), HasSubstr("ahead in the search was not confirmed"));
}

TEST(Conclusion, IsSilentAboutSamplesWhereNoneJudgedTheWinner) {
  Tuning tuning = judged_winner();
  tuning.admission.synthetic = true;
  tuning.candidate = {.threads = 2};
  EXPECT_THAT(conclusion(tuning), Not(HasSubstr("synthetic")));
  tuning.choice = Choice::kBaseline;
  tuning.candidate = baseline_candidate();
  EXPECT_THAT(conclusion(tuning), Not(HasSubstr("synthetic")));
}

}  // namespace
}  // namespace ridge::tune
