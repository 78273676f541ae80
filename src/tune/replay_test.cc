#include "tune/replay.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ridge::tune {
namespace {

std::vector<Standing> points() {
  std::vector<Standing> all;
  for (int64_t batch : {1, 2, 4, 8}) {
    Standing standing;
    standing.candidate.threads = 2;
    standing.candidate.batch = batch;
    standing.gain = {1 + 0.1 * static_cast<double>(batch), 0.95 + 0.1 * static_cast<double>(batch),
                     1.05 + 0.1 * static_cast<double>(batch)};
    const double rows_per_s = 100 * standing.gain.ratio, ms = 1e3 * static_cast<double>(batch) / rows_per_s;
    standing.outcome.candidate = {.rows_per_s = rows_per_s, .p50_ms = ms, .p99_ms = 1.1 * ms};
    all.push_back(standing);
  }
  return all;
}

TEST(Replay, RepeatsTheRecordedGainsAndTheirIntervals) {
  const RecordedGrid grid = grid_of(points());
  ASSERT_EQ(grid.outcomes.size(), 4u);
  const Gain gain = gain_of(grid.outcomes[3].gains);
  EXPECT_NEAR(gain.ratio, 1.8, 1e-9);
  EXPECT_NEAR(std::log(gain.high / gain.low), std::log(1.85 / 1.75), 1e-9);
  EXPECT_NEAR(grid.outcomes[3].baseline.rows_per_s, 100, 1e-9);
}

TEST(Replay, FindsTheBestOfAFewPoints) {
  const Replay result = replay(grid_of(points()));
  EXPECT_EQ(result.points, 4u);
  EXPECT_EQ(result.best.batch, 8);
  EXPECT_GE(result.quality, 0.97);
  EXPECT_LE(result.quality, 1);
}

}  // namespace
}  // namespace ridge::tune
