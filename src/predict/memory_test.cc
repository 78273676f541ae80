#include "predict/memory.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cost/test_graph.h"

namespace ridge::predict {
namespace {

using cost::testing::GraphBuilder;
constexpr double kMb = 1e6;

// `layers` matrices of 1024 × 1024 (4.2 MB each).
model::Graph matrices(int layers, int64_t rows) {
  GraphBuilder g;
  int x = g.input("x", {rows, 1024});
  for (int i = 0; i < layers; ++i)
    x = g.node("MatMul", {x, g.weight("w" + std::to_string(i), {1024, 1024})}, {rows, 1024});
  return g.finish({x});
}

TEST(InferenceMemory, PartsAddUpToTheResidentMemory) {
  for (int64_t rows : {1, 4096}) {
    InferenceMemory m = inference_memory(matrices(4, rows));
    double sum = m.runtime + m.weights + m.activations + m.workspace + m.inputs + m.arena_slack + m.retained;
    EXPECT_NEAR(sum, m.resident, 0.01 * kMb) << rows;
    EXPECT_GE(m.peak, m.resident);
    EXPECT_GE(m.peak, m.loading_peak);
    EXPECT_GE(m.peak_high, m.peak);
  }
}

TEST(InferenceMemory, WeightsArePackedAndHeldOnce) {
  InferenceMemory m = inference_memory(matrices(4, 1));
  EXPECT_NEAR(m.weights, 4 * 4.19 * kMb, 0.1 * kMb);
}

// The first run lays tensors out one by one, later runs in one block: the arena holds both.
TEST(InferenceMemory, WithoutMemoryPatternTheArenaHoldsOneLayout) {
  model::Graph graph = matrices(4, 8192);
  MemoryOptions single;
  single.pattern = false;
  EXPECT_LT(inference_memory(graph, single).peak, inference_memory(graph).peak - 20 * kMb);
}

TEST(InferenceMemory, GrowsWithTheBatch) {
  double last = 0;
  for (int64_t rows : {1, 1024, 4096, 16384}) {
    double peak = inference_memory(matrices(2, rows)).peak;
    EXPECT_GE(peak, last);
    last = peak;
  }
}

TEST(LargestBatch, IsTheLastThatFits) {
  MemoryLine line{1, 4, 110, 140};  // 100 and 10 per row
  auto peak = [&](int64_t batch) { return memory_at(line, static_cast<double>(batch)); };
  EXPECT_EQ(largest_batch(peak, 109), 0);
  EXPECT_EQ(largest_batch(peak, 110), 1);
  EXPECT_EQ(largest_batch(peak, 1100), 100);
  EXPECT_EQ(largest_batch(peak, 1109), 100);
}

TEST(InstancesThatFit, TheFirstBringsTheRuntimeAndTheLastOneLoads) {
  InferenceMemory one;
  one.runtime = 30;
  one.resident = 130;
  one.peak = 180;
  EXPECT_EQ(instances_that_fit(one, 179), 0);
  EXPECT_EQ(instances_that_fit(one, 180), 1);
  EXPECT_EQ(instances_that_fit(one, 279), 1);
  EXPECT_EQ(instances_that_fit(one, 280), 2);
  EXPECT_EQ(memory_of_instances(one, 2), 280);
}

TEST(EngineTraits, BlocksFollowTheInstructionSet) {
  EXPECT_EQ(traits_of({"avx2", "avx512f"}).block, 16);
  EXPECT_EQ(traits_of({"avx", "avx2"}).block, 8);
  EXPECT_EQ(traits_of({"sse4.2"}).block, 0);
}

}  // namespace
}  // namespace ridge::predict
