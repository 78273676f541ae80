#include "plan/device_limits.h"

#include <gtest/gtest.h>

namespace ridge::plan {
namespace {

TEST(DeviceLimits, TakeTheRateOfTf32ForFp32WhereTheEngineMayUseIt) {
  const auto devices = hw::catalogue();
  ASSERT_TRUE(devices.ok());
  cost::DeviceLimits limits = *cost::limits_of(*hw::find_device(*devices, "A100 SXM4 80GB"));
  EXPECT_NEAR(cost::rate_of(limits, Precision::kFp32).flops_per_s, 19.5e12, 0.05e12);
  const size_t remarks = limits.remarks.size();
  allow_tf32(limits);
  EXPECT_NEAR(cost::rate_of(limits, Precision::kFp32).flops_per_s, 156e12, 0.5e12);
  ASSERT_EQ(limits.remarks.size(), remarks + 1);
  EXPECT_NE(limits.remarks.back().text.find("cuda.use_tf32=0"), std::string::npos);
}

TEST(DeviceLimits, StayWhereThereIsNoTf32) {
  const auto devices = hw::catalogue();
  ASSERT_TRUE(devices.ok());
  cost::DeviceLimits limits = *cost::limits_of(*hw::find_device(*devices, "Tesla T4"));
  const double before = cost::rate_of(limits, Precision::kFp32).flops_per_s;
  allow_tf32(limits);
  EXPECT_DOUBLE_EQ(cost::rate_of(limits, Precision::kFp32).flops_per_s, before);
  EXPECT_EQ(limits_of({DeviceKind::kGpu, 0}, {}).error().code, Code::kUnsupported);
}

}  // namespace
}  // namespace ridge::plan
