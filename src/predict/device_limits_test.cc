#include "predict/device_limits.h"

#include <gtest/gtest.h>

namespace ridge::predict {
namespace {

TEST(DeviceLimits, TakeTheRateOfTf32ForFp32WhereTheEngineMayUseIt) {
  const auto devices = catalogue::catalogue();
  ASSERT_TRUE(devices.ok());
  cost::DeviceLimits limits = *cost::limits_of(*catalogue::find_device(*devices, "A100 SXM4 80GB"));
  EXPECT_NEAR(cost::rate_of(limits, Precision::kFp32).flops_per_s, 19.5e12, 0.05e12);
  const size_t remarks = limits.remarks.size();
  allow_tf32(limits);
  EXPECT_NEAR(cost::rate_of(limits, Precision::kFp32).flops_per_s, 156e12, 0.5e12);
  ASSERT_EQ(limits.remarks.size(), remarks + 1);
  EXPECT_NE(limits.remarks.back().text.find("cuda.use_tf32=0"), std::string::npos);
}

TEST(DeviceLimits, StayWhereThereIsNoTf32) {
  const auto devices = catalogue::catalogue();
  ASSERT_TRUE(devices.ok());
  cost::DeviceLimits limits = *cost::limits_of(*catalogue::find_device(*devices, "Tesla T4"));
  const double before = cost::rate_of(limits, Precision::kFp32).flops_per_s;
  allow_tf32(limits);
  EXPECT_DOUBLE_EQ(cost::rate_of(limits, Precision::kFp32).flops_per_s, before);
  EXPECT_EQ(limits_of({plan::DeviceKind::kGpu, 0}, {}).error().code, Code::kUnsupported);
}

// A GPU of the catalogue whose rates were measured.
limits::NvidiaGpu measured_a100() {
  limits::NvidiaGpu gpu;
  gpu.datasheet = *catalogue::find_device(*catalogue::catalogue(), "A100 SXM4 80GB");
  gpu.facts.name = gpu.datasheet->name;
  gpu.facts.capability = "8.0";
  gpu.measured.emplace();
  auto reached = [](double value) {
    limits::MetricResult result;
    result.best = value;
    return result;
  };
  gpu.measured->peaks = {{Precision::kFp32, "multiply-adds", reached(19e12)},
                         {Precision::kTf32, "cuBLASLt", reached(140e12)}};
  gpu.measured->bandwidths = {{"DRAM", "read", 0, reached(1.8e12)}};
  return gpu;
}

TEST(DeviceLimits, OfFp32HaveTheBasisOfTf32ThatTheyTake) {
  const auto limits = limits_of(measured_a100(), {});
  ASSERT_TRUE(limits.ok());
  EXPECT_DOUBLE_EQ(cost::rate_of(*limits, Precision::kFp32).flops_per_s, 140e12);
  EXPECT_EQ(limits->sources.front().what, "fp32");
  EXPECT_EQ(limits->sources.front().by, "as TF32, cuBLASLt");
  EXPECT_EQ(cost::origin_at(*limits, Precision::kFp32), Origin::kMeasured);
  const auto plain = limits_of(measured_a100(), {{"cuda.use_tf32", "0"}});
  ASSERT_TRUE(plain.ok());
  EXPECT_DOUBLE_EQ(cost::rate_of(*plain, Precision::kFp32).flops_per_s, 19e12);
}

TEST(DeviceLimits, OfFp32AreNotKnownWhereTf32sAreNot) {
  limits::NvidiaGpu slice = measured_a100();
  slice.datasheet.reset();
  slice.measured->peaks.pop_back();
  const auto limits = limits_of(slice, {});
  ASSERT_TRUE(limits.ok());
  EXPECT_DOUBLE_EQ(cost::rate_of(*limits, Precision::kFp32).flops_per_s, 0);
  EXPECT_DOUBLE_EQ(cost::rate_of(*limits_of(slice, {{"cuda.use_tf32", "0"}}), Precision::kFp32).flops_per_s, 19e12);
}

}  // namespace
}  // namespace ridge::predict
