#include "predict/estimate.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cost/test_graph.h"
#include "predict/kernel_work.h"

namespace ridge::predict {
namespace {

using cost::testing::GraphBuilder;

// Four cores at 100 GFLOP/s each.
machine::Machine two_threads() {
  machine::Machine m;
  m.id = "m";
  m.cpu.allowed_cpus = m.cpu.allowed_cores = m.cpu.physical_cores = 4;
  m.cpu.caches = {{1, 32 << 10, 4}, {2, 1 << 20, 4}, {3, 32 << 20, 1}};
  auto add = [&](const char* level, int threads, double rate) {
    machine::Bandwidth& bandwidth = m.bandwidths.emplace_back();
    bandwidth.level = level;
    bandwidth.threads = threads;
    bandwidth.bytes_per_s = rate;
  };
  for (int threads : {1, 2, 4}) {
    machine::Peak& peak = m.peaks.emplace_back();
    peak.precision = Precision::kFp32;
    peak.threads = threads;
    peak.flops_per_s = 1e11 * threads;
    add("L1", threads, 4e11 * threads);
    add("L2", threads, 2e11 * threads);
    add("L3", threads, 1e11 * threads);
    add("DRAM", threads, threads == 1 ? 2e10 : 3e10);
  }
  return m;
}

Kernel square_product(int64_t n) {
  auto tensor = [](Shape shape, bool weight) {
    return cost::Operand{true, DataType::kFp32, std::move(shape), weight, {}};
  };
  Kernel kernel;
  kernel.op = "MatMul";
  kernel.inputs = {tensor({64, 512}, false), tensor({512, n}, true)};
  kernel.outputs = {tensor({64, n}, false)};
  return kernel;
}

// GEMMs take 2 ms per 512 columns with one thread and half of that with two.
Efficiency efficiency() {
  Efficiency e;
  e.machine = "m";
  e.engine = "onnxruntime";
  e.engine_version = "1";
  e.block = 16;
  for (int threads : {1, 2}) {
    Calibration calibration;
    calibration.threads = threads;
    calibration.held_out_error = 0.05;
    for (int64_t n : {256, 512, 1024}) {
      const double us = 2000.0 * static_cast<double>(n) / 512 / threads;
      calibration.samples.push_back({"s", 1e6, us, 1, 0});
      calibration.kernels.push_back({square_product(n), us, static_cast<int>(calibration.samples.size()) - 1});
    }
    e.calibrations.push_back(std::move(calibration));
  }
  return e;
}

model::Graph two_products() {
  GraphBuilder b;
  int x = b.input("x", {64, 512});
  x = b.node("MatMul", {x, b.weight("a", {512, 512})}, {64, 512});
  return b.finish({b.node("MatMul", {x, b.weight("b", {512, 512})}, {64, 512})});
}

TEST(Estimate, AddsUpWhatItsKernelsTookWhenTheMachineWasCalibrated) {
  Result<Estimate> result = estimate(two_products(), efficiency(), two_threads(), {.threads = 1, .rows = 64});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_NEAR(result->ms, 4, 0.2);
  EXPECT_NEAR(result->throughput_per_s, 64 / result->ms * 1e3, 1e-6);
  ASSERT_EQ(result->layers.size(), 2U);
  EXPECT_GE(result->error_percent, 5);
  EXPECT_LT(result->error_percent, 20);
  EXPECT_TRUE(result->notes.empty());
}

TEST(Estimate, ThreadsThatWereNotCalibratedFollowAmdahlAndWidenTheError) {
  Result<Estimate> two = estimate(two_products(), efficiency(), two_threads(), {.threads = 2});
  Result<Estimate> four = estimate(two_products(), efficiency(), two_threads(), {.threads = 4});
  ASSERT_TRUE(two.ok() && four.ok());
  EXPECT_NEAR(two->ms, 2, 0.1);
  EXPECT_NEAR(four->ms, 1, 0.1);
  EXPECT_GT(four->error_percent, two->error_percent);
  ASSERT_EQ(four->notes.size(), 1U);
  EXPECT_NE(four->notes[0].find("4 threads"), std::string::npos);
}

TEST(Estimate, InstancesAddThroughputUntilTheCoresAreBusyThenLatency) {
  auto with = [](int instances) {
    return *estimate(two_products(), efficiency(), two_threads(), {.threads = 1, .instances = instances});
  };
  const Estimate one = with(1), four = with(4), eight = with(8);
  EXPECT_GT(four.throughput_per_s, 3 * one.throughput_per_s);
  EXPECT_LE(four.throughput_per_s, 4 * one.throughput_per_s * 1.001);
  EXPECT_NEAR(eight.ms, 2 * four.ms, 0.25 * four.ms);
  EXPECT_LE(eight.throughput_per_s, 1.05 * four.throughput_per_s);
}

TEST(Estimate, SaysWhichPartIsAGuess) {
  GraphBuilder b;
  const int x = b.input("x", {64, 512});
  Result<Estimate> result =
      estimate(b.finish({b.node("Tan", {x}, {64, 512})}), efficiency(), two_threads(), {.threads = 1});
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->notes.size(), 1U);
  EXPECT_NE(result->notes[0].find("Tan"), std::string::npos);
  EXPECT_GE(result->error_percent, 40);
}

TEST(Estimate, ALoopTakesItsBodyOncePerTurn) {
  GraphBuilder b;
  const int limit = b.weight("trips", {}, DataType::kInt64), x = b.input("x", {64, 512});
  GraphBuilder inside;
  const int state = inside.input("state", {64, 512});
  inside.weight("other", {1});  // so that no inner name equals an outer one
  auto body = std::make_shared<model::Graph>(
      inside.finish({inside.node("MatMul", {state, inside.weight("w", {512, 512})}, {64, 512})}));
  model::Graph graph = b.finish({b.node("Loop", {limit, -1, x}, {64, 512}, {{"body", body}})});
  graph.tensors[static_cast<size_t>(limit)].constant = {5};
  Result<Estimate> result = estimate(graph, efficiency(), two_threads(), {.threads = 1});
  ASSERT_TRUE(result.ok());
  EXPECT_NEAR(result->ms, 5 * 2, 0.5);  // a GEMM takes 2 ms
  ASSERT_EQ(result->layers.size(), 1U);
  EXPECT_EQ(result->layers[0].op, "Loop");
  EXPECT_TRUE(result->notes.empty());
}

// 64 · 512 · 512 multiply-adds of 100 GFLOP/s take 336 µs; the calibration says 20.
TEST(Estimate, IsTheBoundWhereTheCalibrationWouldBeBelowIt) {
  Efficiency fast = efficiency();
  for (Calibration& calibration : fast.calibrations)
    for (TimedKernel& timed : calibration.kernels) timed.us /= 100;
  const double bound_ms = 2.0 * 64 * 512 * 512 / 1e11 * 1e3;
  Result<Estimate> result = estimate(two_products(), fast, two_threads(), {.threads = 1});
  ASSERT_TRUE(result.ok());
  for (const Estimate::Layer& layer : result->layers) EXPECT_NEAR(layer.ms, bound_ms, 1e-9);
  EXPECT_GE(result->ms, 2 * bound_ms);
  ASSERT_EQ(result->notes.size(), 1U);
  EXPECT_NE(result->notes[0].find("MatMul"), std::string::npos);
}

TEST(Estimate, OfTheWholeIsNotBelowTheBoundOfTheWhole) {
  Result<Estimate> result =
      estimate(two_products(), efficiency(), two_threads(), {.threads = 1, .rows = 64, .bound_ms = 9});
  ASSERT_TRUE(result.ok());
  EXPECT_DOUBLE_EQ(result->ms, 9);
  EXPECT_DOUBLE_EQ(result->throughput_per_s, 64 / 9e-3);
  EXPECT_EQ(result->notes.size(), 1U);
}

TEST(Estimate, WithoutAMeasurementThereIsNone) {
  Result<Estimate> result = estimate(two_products(), Efficiency(), two_threads(), {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kNotFound);
}

TEST(Estimate, JsonHasTheContractsFields) {
  Result<Estimate> result = estimate(two_products(), efficiency(), two_threads(), {.threads = 1});
  ASSERT_TRUE(result.ok());
  const Json json = json_of(*result);
  for (const char* field : {"estimate_ms", "estimate_per_s", "estimate_error_percent"})
    EXPECT_GT(json[field].get<double>(), 0) << field;
  EXPECT_EQ(json["estimate"]["kernels"].size(), 2U);
}

}  // namespace
}  // namespace ridge::predict
