#include <gtest/gtest.h>

#include "cost/costs.h"

namespace ridge::cost {
namespace {

catalogue::CatalogueDevice rtx_4090() { return *catalogue::find_device(*catalogue::catalogue(), "GeForce RTX 4090"); }

TEST(CatalogueLimits, BoundWithTheFasterAccumulatorAndSaySo) {
  auto limits = limits_of(rtx_4090());
  ASSERT_TRUE(limits);
  EXPECT_EQ(limits->origin, Origin::kDatasheet);
  EXPECT_DOUBLE_EQ(rate_of(*limits, Precision::kFp32).flops_per_s, 82.58e12);
  EXPECT_DOUBLE_EQ(rate_of(*limits, Precision::kFp16).flops_per_s, 330.3e12);
  EXPECT_DOUBLE_EQ(rate_of(*limits, Precision::kFp8).flops_per_s, 660.6e12);
  ASSERT_FALSE(limits->remarks.empty());
  EXPECT_EQ(limits->remarks.front().precision, Precision::kFp16);
  EXPECT_NE(limits->remarks.front().text.find("330 TFLOP/s with FP16 accumulators and at 165 TFLOP/s"),
            std::string::npos)
      << limits->remarks.front().text;
}

TEST(CatalogueLimits, HalveFp16AndFp8OnGeForceWithFp32Accumulators) {
  auto limits = limits_of(rtx_4090(), Accumulate::kFp32);
  ASSERT_TRUE(limits);
  EXPECT_DOUBLE_EQ(rate_of(*limits, Precision::kFp16).flops_per_s, 165.2e12);
  EXPECT_NEAR(rate_of(*limits, Precision::kFp8).flops_per_s, 330.3e12, 0.2e12);
  auto same = limits_of(*catalogue::find_device(*catalogue::catalogue(), "A100 SXM4 80GB"), Accumulate::kFp32);
  ASSERT_TRUE(same);
  EXPECT_DOUBLE_EQ(rate_of(*same, Precision::kFp16).flops_per_s, 311.9e12);
  EXPECT_TRUE(same->remarks.empty());
}

TEST(CatalogueLimits, KeepTheCachesCapacityAndChargeDramForTheRest) {
  auto limits = limits_of(rtx_4090());
  ASSERT_TRUE(limits);
  ASSERT_EQ(limits->levels.size(), 2u);
  EXPECT_EQ(limits->levels[0].name, "L2");
  // 1008 MB, of which 72 MiB may stay in L2.
  Bound b = bound(0, 1008e6, Precision::kFp32, *limits);
  EXPECT_NEAR(b.ms, 1e3 * (1008e6 - 72.0 * 1024 * 1024) / 1008e9, 1e-9);
  EXPECT_EQ(b.limiter, Limiter::kMemory);
}

TEST(CatalogueLimits, ComputeFp16InFp32WhereItsRateIsAFractionOfIt) {
  auto limits = limits_of(*catalogue::find_device(*catalogue::catalogue(), "GeForce GTX 1080 Ti"));
  ASSERT_TRUE(limits);
  EXPECT_DOUBLE_EQ(rate_of(*limits, Precision::kFp16).flops_per_s, rate_of(*limits, Precision::kFp32).flops_per_s);
}

TEST(CatalogueLimits, TakeACeilingForInt8WhereItHasNoSource) {
  auto limits = limits_of(*catalogue::find_device(*catalogue::catalogue(), "A10G"));
  ASSERT_TRUE(limits);
  Rate rate = rate_of(*limits, Precision::kInt8);
  EXPECT_DOUBLE_EQ(rate.flops_per_s, 140.08e12);  // 4 × FP32 35.02, as 2 × FP16 70 is less
  EXPECT_NE(rate.note.find("has a source for A10G"), std::string::npos) << rate.note;
}

TEST(CatalogueLimits, AreRefusedWithoutBandwidth) {
  auto limits = limits_of(*catalogue::find_device(*catalogue::catalogue(), "M2 Pro"));
  ASSERT_FALSE(limits);
  EXPECT_NE(limits.error().message.find("M2 Pro"), std::string::npos) << limits.error().message;
  EXPECT_NE(limits.error().message.find("memory bandwidth"), std::string::npos) << limits.error().message;
}

// A device with known bandwidth has every listed rate above zero.
TEST(CatalogueLimits, HoldForEveryDeviceThatHasPeakAndBandwidth) {
  auto devices = catalogue::catalogue();
  ASSERT_TRUE(devices);
  int usable = 0;
  for (const catalogue::CatalogueDevice& device : *devices) {
    auto limits = limits_of(device);
    EXPECT_EQ(limits.ok(), !device.peaks.empty() && device.bytes_per_s.has_value()) << device.name;
    usable += limits.ok() ? 1 : 0;
  }
  EXPECT_GT(usable, 220);
}

}  // namespace
}  // namespace ridge::cost
