#include "plan/first_plan.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "predict/forecast.h"

namespace ridge::predict {
namespace {

// 4 cores of 100 GFLOP/s, DRAM at 20 GB/s.
machine::Machine machine() {
  machine::Machine m;
  m.cpu.model = "test cpu";
  m.cpu.physical_cores = m.cpu.allowed_cores = m.cpu.allowed_cpus = m.cpu.logical_cpus = 4;
  for (int threads : {1, 4}) {
    machine::Peak peak;
    peak.threads = threads;
    peak.flops_per_s = 100e9 * threads;
    m.peaks.push_back(peak);
    machine::Bandwidth bandwidth;
    bandwidth.level = "DRAM";
    bandwidth.threads = threads;
    bandwidth.bytes_per_s = 20e9;
    m.bandwidths.push_back(bandwidth);
  }
  return m;
}

cost::Costs costs_of(double flops) {
  cost::Costs costs;
  costs.nodes.resize(1);
  costs.nodes[0].name = "layer";
  costs.nodes[0].op = "MatMul";
  costs.nodes[0].flops = costs.nodes[0].needed_flops = costs.flops = flops;
  costs.nodes[0].bytes_read = costs.compulsory_read = costs.compulsory_bytes = costs.bytes = 2e6;
  costs.weight_bytes = 8e5;
  costs.peak_activation_bytes = 2e5;
  return costs;
}

plan::PlanRequest plan_request(int64_t batch = 1, std::optional<int> threads = {}) {
  plan::PlanRequest result;
  result.model = "m.onnx";
  result.batch = batch;
  result.threads = threads;
  return result;
}

TEST(FirstPlan, UsesEveryCoreAndSaysWhy) {
  plan::Plan plan = plan::first_plan(machine(), costs_of(8e9), plan_request(2));
  EXPECT_EQ(plan.threads, 4);
  EXPECT_EQ(plan.instances, 1);
  EXPECT_EQ(plan.batch, 2);
  EXPECT_EQ(plan.spin, plan::Spin::kDefault);
  EXPECT_DOUBLE_EQ(plan.bound_ms, 20);
  ASSERT_EQ(plan.reasons.size(), 1u);
  EXPECT_NE(plan.reasons[0].find("4 threads"), std::string::npos);
}

TEST(FirstPlan, FollowsTheQuotaAndStopsSpinningUnderIt) {
  machine::Machine limited = machine();
  limited.cpu.quota = 2.5;
  plan::Plan plan = plan::first_plan(limited, costs_of(8e9), plan_request());
  EXPECT_EQ(plan.threads, 3);
  EXPECT_EQ(plan.spin, plan::Spin::kOff);
  EXPECT_NE(plan.reasons[0].find("quota of 2.5"), std::string::npos);
}

TEST(FirstPlan, KeepsATinyModelOnOneThread) {
  plan::Plan plan = plan::first_plan(machine(), costs_of(1e3), plan_request());
  EXPECT_EQ(plan.threads, 4);  // 2 MB from DRAM take 100 µs
  cost::Costs tiny = costs_of(1e3);
  tiny.compulsory_read = 1e3;
  EXPECT_EQ(plan::first_plan(machine(), tiny, plan_request()).threads, 1);
}

TEST(FirstPlan, ObeysTheUserAndWarnsOfTooManyThreads) {
  plan::Plan plan = plan::first_plan(machine(), costs_of(8e9), plan_request(1, 9));
  EXPECT_EQ(plan.threads, 9);
  EXPECT_EQ(plan.spin, plan::Spin::kOff);
  EXPECT_NE(plan.reasons[0].find("more than the 4"), std::string::npos);
}

TEST(FirstPlan, WithoutMeasuredLimitsHasNoBound) {
  machine::Machine unmeasured = machine();
  unmeasured.peaks.clear();
  EXPECT_DOUBLE_EQ(plan::first_plan(unmeasured, costs_of(8e9), plan_request()).bound_ms, 0);
}

TEST(Forecast, HasTheContractsFieldsAndOnlyThoseThatAreKnown) {
  cost::Costs costs = costs_of(8e9);
  Json json = json_of(predict::forecast("m.onnx", 2, Precision::kFp32, costs, *cost::limits_of(machine(), 4)));
  for (const char* field : {"model", "device", "precision", "batch", "flops", "macs", "params", "weight_bytes",
                            "peak_activation_bytes", "memory_bytes", "bound_ms", "limiter", "layers"})
    EXPECT_TRUE(json.contains(field)) << field;
  for (const char* field : {"estimate_ms", "max_batch"}) EXPECT_FALSE(json.contains(field)) << field;
  EXPECT_DOUBLE_EQ(json["bound_ms"].get<double>(), 20);
  EXPECT_EQ(json["limiter"], "compute");
  EXPECT_DOUBLE_EQ(json["memory_bytes"]["inference"].get<double>(), 1e6);
  EXPECT_DOUBLE_EQ(json["ridge_point"].get<double>(), 20);
  for (const char* field : {"name", "op", "flops", "bytes", "intensity", "bound_ms", "limiter"})
    EXPECT_TRUE(json["layers"][0].contains(field)) << field;
}

TEST(FirstPlan, OnAGpuOneThreadHandsOverTheWorkAndTheCpuIsNoLimit) {
  plan::PlanRequest on_gpu = plan_request(2);
  on_gpu.device = {plan::DeviceKind::kCuda, 1};
  const plan::Plan plan = plan::first_plan(machine(), costs_of(8e9), on_gpu);
  EXPECT_EQ(plan.device, "cuda:1");
  EXPECT_EQ(plan.threads, 1);
  EXPECT_EQ(plan.bound_ms, 0);
  on_gpu.threads = 3;
  EXPECT_EQ(plan::first_plan(machine(), costs_of(8e9), on_gpu).threads, 3);
}

}  // namespace
}  // namespace ridge::predict
