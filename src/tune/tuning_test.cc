#include "tune/tuning.h"

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
  EXPECT_THAT(conclusion(tuning), HasSubstr("; the deviation was measured on synthetic samples only."));
  tuning.admission.synthetic = false;
  EXPECT_THAT(conclusion(tuning), Not(HasSubstr("synthetic")));
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
