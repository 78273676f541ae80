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

}  // namespace
}  // namespace ridge::cli
