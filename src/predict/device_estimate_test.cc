#include "predict/device_estimate.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ridge::predict {
namespace {

// 100 TFLOP/s in INT8, 1 TB/s.
catalogue::CatalogueDevice one_device() {
  catalogue::CatalogueDevice one_device;
  one_device.name = "Example";
  one_device.vendor = "NVIDIA";
  one_device.bytes_per_s = 1e12;
  catalogue::CataloguePeak peak;
  peak.arithmetic = Precision::kInt8;
  peak.flops_per_s = 100e12;
  one_device.peaks = {peak};
  return one_device;
}

cost::NodeCost layer(double flops, double bytes) {
  cost::NodeCost node;
  node.op = "Conv";
  node.precision = Precision::kInt8;
  node.flops = node.needed_flops = flops;
  node.bytes_read = bytes;
  return node;
}

// A layer of 6 GFLOP (60 µs at the limit) and a tiny one bounded by its launch.
cost::Costs costs() {
  cost::Costs costs;
  costs.nodes = {layer(6e9, 1e6), layer(1e6, 1e3)};
  return costs;
}

TEST(DeviceEstimate, IsTheLayersLimitsOverTheShareThatDevicesReach) {
  Result<DeviceEstimate> estimate = estimate_on(one_device(), costs(), Precision::kInt8, 8);
  ASSERT_TRUE(estimate) << estimate.error().message;
  EXPECT_NEAR(estimate->ms.likely, 0.060 / 0.6 + 0.008, 1e-9);
  EXPECT_NEAR(estimate->ms.slow, 0.060 / 0.48 + 0.015, 1e-9);
  EXPECT_NEAR(estimate->ms.fast, 0.060 / 0.85 + 0.006, 1e-9);
  EXPECT_NEAR(estimate->throughput_per_s, 8 / 0.108e-3, 1e-3);
  EXPECT_NEAR(estimate->error_percent, 100 * ((0.060 / 0.48 + 0.015) / 0.108 - 1), 1e-6);
  EXPECT_NEAR(estimate->held.start, 0.008 / 0.108, 1e-9);
  EXPECT_FALSE(estimate->evidence.empty());
}

TEST(DeviceEstimate, NeedsARateThatHasASource) {
  Result<DeviceEstimate> estimate = estimate_on(catalogue::CatalogueDevice{}, costs(), Precision::kInt8, 1);
  EXPECT_FALSE(estimate);
}

TEST(DeviceEstimate, JsonHasTheMembersOfACalibratedOneAndItsRange) {
  Json json = json_of(*estimate_on(one_device(), costs(), Precision::kInt8, 8));
  EXPECT_NEAR(json["estimate_ms"].get<double>(), 0.108, 1e-9);
  EXPECT_EQ(json["estimate"]["basis"], "carried over");
  EXPECT_LT(json["estimate"]["range_ms"]["fast"].get<double>(), json["estimate_ms"].get<double>());
  EXPECT_TRUE(json["estimate"]["kernels"].empty());
}

}  // namespace
}  // namespace ridge::predict
