#include "power/gemm.h"

#include <gtest/gtest.h>

namespace ridge::power {
namespace {

TEST(GemmOnCpu, CountsTheFlopsOfWholeMultiplications) {
  const Result<Workload> workload = gemm_on_cpu(64);
  ASSERT_TRUE(workload) << workload.error().message;
  EXPECT_EQ(workload->unit, "FLOP");
  const Result<double> rate = workload->rate(std::chrono::milliseconds(2));
  ASSERT_TRUE(rate);
  EXPECT_GE(*rate, 2 * 64 * 64 * 64);  // one in a second
  EXPECT_LT(*rate, 1e16);
  EXPECT_EQ(gemm_on_cpu(100).error().code, Code::kInvalid);
}

}  // namespace
}  // namespace ridge::power
