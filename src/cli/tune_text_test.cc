#include "cli/tune_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridge::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(TuneText, SaysHowAVariantWasCalibratedAndWhichLayersStayedInFp32) {
  tune::Tuning tuning;
  precision::Variant variant;
  variant.name = "int8";
  variant.calibration = "entropy over 64 samples (32 pictures of DIR)";
  tuning.admission.variants = {variant};
  EXPECT_THAT(tuning_text(tuning), HasSubstr("int8: calibrated by entropy over 64 samples (32 pictures of DIR)\n"));
  EXPECT_THAT(tuning_text(tuning), Not(HasSubstr("in FP32")));
  tuning.admission.variants[0].kept = {"first", "last", "c", "d", "e", "f", "g", "h", "i"};
  EXPECT_THAT(tuning_text(tuning),
              HasSubstr("int8: kept in FP32, so that accuracy holds: first, last, c, d, e, f, g, h and 1 more\n"));
}

TEST(TuneText, TheFrontSaysWhichCandidatesAGoalDoesNotDecide) {
  tune::Tuning tuning;
  const auto point = [](int64_t batch, double p99_ms, bool feasible, bool undecided) {
    tune::Standing standing;
    standing.candidate.batch = batch;
    standing.outcome.candidate = {.rows_per_s = 100, .p50_ms = p99_ms, .p99_ms = p99_ms};
    standing.outcome.candidate.p99_ci95_ms = {0.5 * p99_ms, 1.5 * p99_ms};
    standing.feasible = feasible;
    standing.undecided = undecided;
    return standing;
  };
  tuning.pareto = {point(8, 40, false, false), point(4, 18, true, true), point(2, 4, true, false)};
  EXPECT_THAT(tuning_text(tuning), Not(HasSubstr("meets the goal")));
  tuning.goal.p99_ms = 20;
  const std::string text = tuning_text(tuning);
  for (const char* part : {"meets the goal", "9.00 ms to 27.0 ms", "undecided", "20.0 ms to 60.0 ms", " no"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(TuneText, TheFrontHasIntervalsWithoutAGoalToo) {
  tune::Tuning tuning;
  tuning.choice = tune::Choice::kCandidate;
  for (const int64_t batch : {4, 2}) {
    tune::Standing& point = tuning.pareto.emplace_back();
    point.candidate.batch = batch;
    point.outcome.candidate = {.rows_per_s = 100, .p50_ms = 4, .p99_ms = 5};
    point.outcome.candidate.p99_ci95_ms = {4.5, 5.5};
    point.rate = {2, 0.2, 20};
  }
  tuning.candidate = tuning.pareto.front().candidate;
  tuning.best.throughput_ci95_per_s = {90, 110};
  const std::string text = tuning_text(tuning);
  EXPECT_THAT(text, HasSubstr("4.50 ms to 5.50 ms"));
  EXPECT_THAT(text, HasSubstr("90 rows/s to 110 rows/s")) << "the winner's, as in the table above";
  EXPECT_THAT(text, HasSubstr("uncertain")) << "ends more than a factor of ten apart";
}

TEST(TuneText, WithoutAnAnswerNothingIsCalledTunedAndNoGainIsSaidToHold) {
  tune::Tuning tuning;
  tuning.choice = tune::Choice::kNone;
  tuning.disturbance.emplace();
  tuning.disturbance->seconds = 10;
  tuning.disturbance->cpus = 2;
  tuning.disturbance->other_cpus = 1.9;
  const std::string text = tuning_text(tuning);
  EXPECT_THAT(text, HasSubstr("95 % intervals, closest"));
  EXPECT_THAT(text, Not(HasSubstr("Gains hold")));
  EXPECT_THAT(text, Not(HasSubstr("intervals, tuned")));
}

TEST(TuneText, AComparisonOnABusyMachineSaysSo) {
  machine::Disturbance busy;
  busy.seconds = 10;
  busy.cpus = 2;
  busy.other_cpus = 1.9;
  EXPECT_THAT(comparison_text({}, {5}, busy), HasSubstr(machine::sentence(busy)));
  busy.other_cpus = 0;
  EXPECT_THAT(comparison_text({}, {5}, busy), Not(HasSubstr("busy")));
}

}  // namespace
}  // namespace ridge::cli
