#include "predict/batch_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridge::predict {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(BatchRange, IsOneNumberOrTwo) {
  auto one = parse_batch_range("8"), range = parse_batch_range("1..64");
  ASSERT_TRUE(one && range);
  EXPECT_EQ(one->first, 8);
  EXPECT_FALSE(one->is_curve());
  EXPECT_EQ(range->last, 64);
  EXPECT_TRUE(range->is_curve());
}

TEST(BatchRange, RefusesWhatIsNoRange) {
  for (const char* text : {"", "0", "-1", "8x", "1..", "..4", "1..0", "4..2", "1...4", "99999999999999999999"}) {
    auto range = parse_batch_range(text);
    ASSERT_FALSE(range) << text;
    EXPECT_THAT(range.error().message, HasSubstr("--batch")) << text;
  }
}

TEST(BatchRange, HoldsThePowersOfTwoBetweenItsEnds) {
  EXPECT_THAT(batches_of({1, 1}), ElementsAre(1));
  EXPECT_THAT(batches_of({1, 8}), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(batches_of({3, 20}), ElementsAre(3, 4, 8, 16, 20));
  EXPECT_THAT(batches_of({5, 6}), ElementsAre(5, 6));
}

TEST(CurvePoint, CountsRowsNotRunsAndSaysWhetherTheyFit) {
  Forecast forecast;
  forecast.batch = 4;
  forecast.bound.ms = 20;
  forecast.inference_bytes = 3e9;
  EXPECT_FALSE(curve_point(forecast).fits.has_value());
  forecast.device_memory_bytes = 2e9;
  CurvePoint point = curve_point(forecast);
  EXPECT_DOUBLE_EQ(point.throughput_per_s, 200);
  EXPECT_EQ(point.fits, false);
}

}  // namespace
}  // namespace ridge::predict
