#include "power/gemm.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace ridge::power {
namespace {

TEST(GemmOnCpu, CountsTheFlopsOfWholeMultiplications) {
  const FakeClock clock(std::chrono::milliseconds(1));  // that a multiplication takes, whichever thread makes it
  const Result<Workload> workload = gemm_on_cpu(64, clock);
  ASSERT_TRUE(workload) << workload.error().message;
  EXPECT_EQ(workload->unit, "FLOP");
  const Result<double> rate = workload->rate(std::chrono::milliseconds(10));
  ASSERT_TRUE(rate);
  const double whole = 1000 * 2 * 64 * 64 * 64;
  EXPECT_LT(*rate, whole);  // the last look ends it
  EXPECT_GE(*rate, whole * 0.9);
  EXPECT_EQ(gemm_on_cpu(100, clock).error().code, Code::kInvalid);
}

}  // namespace
}  // namespace ridge::power
