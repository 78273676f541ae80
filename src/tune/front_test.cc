#include "tune/front.h"

#include <gtest/gtest.h>

#include "tune/test_layout.h"

namespace ridge::tune {
namespace {

// Measured while the untuned model made `untuned` rows/s.
Standing measured_at(int64_t batch, double gain, double p99_ms, double untuned) {
  Standing standing;
  standing.candidate = laid_out(1, 1, batch);
  standing.gain = standing.rate = {gain, gain / 1.1, gain * 1.1};
  standing.outcome.baseline = {.rows_per_s = untuned};
  standing.outcome.candidate = {.rows_per_s = gain * untuned, .p50_ms = p99_ms, .p99_ms = p99_ms};
  standing.outcome.candidate.p99_ci95_ms = {p99_ms / 1.25, p99_ms * 1.25};
  return standing;
}

// The second was measured while the machine was half as fast: its raw rows/s are fewer, its gain is larger.
TEST(Front, RatesAndGainsAgreeWhateverTheMachineDidMeanwhile) {
  const Standing early = at_speed(measured_at(1, 2.9, 5, 100), 100);
  const Standing late = at_speed(measured_at(4, 4.2, 16, 50), 100);
  EXPECT_DOUBLE_EQ(early.outcome.candidate.rows_per_s, 290);
  EXPECT_DOUBLE_EQ(late.outcome.candidate.rows_per_s, 420);
  EXPECT_DOUBLE_EQ(late.outcome.candidate.p99_ms, 8) << "on the machine at full speed";
  EXPECT_DOUBLE_EQ(*late.outcome.candidate.p99_ci95_ms.low, 6.4);
  EXPECT_DOUBLE_EQ(*late.outcome.candidate.p99_ci95_ms.high, 10);
  EXPECT_DOUBLE_EQ(*late.rows_per_s_ci95().low, 420 / 1.1);
  EXPECT_DOUBLE_EQ(*late.rows_per_s_ci95().high, 420 * 1.1);
}

TEST(Front, HoldsTheChosenOneEvenWhereAnotherIsAheadOfIt) {
  const std::vector<Standing> points = {measured_at(1, 2, 5, 100), measured_at(2, 3, 4, 100),
                                        measured_at(4, 4, 9, 100)};
  EXPECT_EQ(pareto_front(points, baseline_candidate()).size(), 2u);
  const std::vector<Standing> with_chosen = pareto_front(points, laid_out(1, 1, 1));
  ASSERT_EQ(with_chosen.size(), 3u);
  EXPECT_EQ(with_chosen.back().candidate, laid_out(1, 1, 1)) << "by falling rows/s";
}

}  // namespace
}  // namespace ridge::tune
