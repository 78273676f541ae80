#include "predict/memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cost/test_graph.h"
#include "model/domains.h"

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
    const InferenceMemory m = inference_memory(matrices(4, rows), nullptr);
    EXPECT_NEAR(m.runtime + m.weights + m.activations + m.workspace + m.inputs + m.arena_slack + m.retained, m.resident,
                1);
    EXPECT_EQ(m.peak, std::max(m.resident, m.loading_peak));
    EXPECT_LT(m.peak_low, m.peak);
    EXPECT_GT(m.peak_high, m.peak);
  }
}

TEST(InferenceMemory, WeightsAndActivationsAreThoseOfTheGraphThatRuns) {
  const model::Graph file = matrices(4, 4096), engine = matrices(2, 4096);
  const InferenceMemory plain = inference_memory(file, nullptr), optimised = inference_memory(file, &engine);
  EXPECT_NEAR(plain.weights, 4 * 4.19 * kMb, 0.1 * kMb);
  EXPECT_NEAR(optimised.weights, 2 * 4.19 * kMb, 0.1 * kMb);
  EXPECT_FALSE(plain.of_engine_graph);
  EXPECT_TRUE(optimised.of_engine_graph);
  EXPECT_EQ(plain.runtime, optimised.runtime);  // nodes of the file
}

// `filters` filters over 32 × 32 positions.
model::Graph convolution(int64_t filters) {
  GraphBuilder g;
  const int x = g.input("x", {1, 8, 34, 34});
  return g.finish({g.node("Conv", {x, g.weight("w", {filters, 8, 3, 3})}, {1, filters, 32, 32})});
}

TEST(InferenceMemory, CountsWindowsWhereThereAreMoreFiltersThanPlaces) {
  EXPECT_EQ(inference_memory(convolution(1024), nullptr).workspace, 0);
  EXPECT_EQ(inference_memory(convolution(1025), nullptr).workspace, 4.0 * 9 * 8 * 32 * 32);
  model::Graph blocked = convolution(1025);
  blocked.nodes[0].domain = model::kBlocked;
  EXPECT_EQ(inference_memory(blocked, nullptr).workspace, 0);
}

TEST(InferenceMemory, ListsOfNumbersAreWeightsToo) {
  GraphBuilder g;
  const int x = g.input("x", {1, 4});
  const std::vector<double> values(100'000, 0.5);
  const model::Graph trees = g.finish({g.node("TreeEnsembleRegressor", {x}, {1, 1}, {{"nodes_values", values}})});
  EXPECT_NEAR(inference_memory(trees, nullptr).weights, 400'000, 10);
}

TEST(InferenceMemory, CountsAResultThatOverwritesItsInputOnce) {
  GraphBuilder g;
  const int scores = g.node("MatMul", {g.input("x", {1500, 64})}, {1500, 1500});
  const int y = g.node("MatMul", {g.node("Softmax", {scores}, {1500, 1500})}, {1500, 64});
  const InferenceMemory m = inference_memory(g.finish({g.node("MatMul", {y}, {1})}), nullptr);
  const double score = 4.0 * 1500 * 1500, narrow = 4.0 * 1500 * 64;
  EXPECT_EQ(m.activations, score + narrow + 4);
  // Later runs have their block where the first had the scores, in 2^24 bytes.
  EXPECT_DOUBLE_EQ(m.arena_slack, 0.1 * m.activations + narrow);
}

TEST(InferenceMemory, LaterRunsTakeABlockOfTheirOwn) {
  const InferenceMemory m = inference_memory(matrices(3, 4096), nullptr);
  const double result = 4.0 * 4096 * 1024;
  EXPECT_EQ(m.activations, 2 * result + result);  // two at a time, and the output
  EXPECT_DOUBLE_EQ(m.arena_slack, 0.1 * m.activations + 2 * result);
}

TEST(InferenceMemory, FreedBuffersAreTakenAgainWhereTheEngineKnowsThatShapesAreTheSame) {
  GraphBuilder g;
  int x = g.input("x", {1000});
  for (int64_t size : {1000, 500, 490, 1000, 1}) x = g.node("MatMul", {x}, {size});
  const model::Graph graph = g.finish({x});
  EXPECT_EQ(inference_memory(graph, &graph).activations, 4 * (1000 + 500 + 490 + 1));
  EXPECT_EQ(inference_memory(graph, &graph, {"t1", "t4"}).activations, 4 * (500 + 1000 + 1));
}

// The memory that loading leaves behind for `layers` matrices of `size` × `size`.
double left_by(int layers, int64_t size) {
  GraphBuilder g;
  int x = g.input("x", {1, size});
  for (int i = 0; i < layers; ++i)
    x = g.node("MatMul", {x, g.weight("w" + std::to_string(i), {size, size})}, {1, size});
  return inference_memory(g.finish({x}), nullptr).retained;
}

TEST(InferenceMemory, PackedMatricesLeaveAPartBehindAndMappedOnesNothing) {
  EXPECT_NEAR(left_by(4, 2048), 0.3 * 4 * 4.0 * 2048 * 2048, 0.1 * kMb);
  EXPECT_NEAR(left_by(4, 4096), 0, 0.1 * kMb);  // 64 MiB each
}

TEST(InferenceMemory, AMatrixIsHeldTwiceWhileItIsPacked) {
  const InferenceMemory m = inference_memory(matrices(1, 1), nullptr);
  EXPECT_GE(m.loading_peak, m.runtime + m.weights + 4.0 * 1024 * 1024);
}

TEST(InferenceMemory, WeightsOfQuantisedConvolutionsArePackedToo) {
  GraphBuilder g;
  const int x = g.input("x", {1, 1024, 4, 4}, DataType::kUint8), s = g.weight("s", {}),
            z = g.weight("z", {}, DataType::kUint8);
  const int w = g.weight("w", {1024, 1024, 3, 3}, DataType::kInt8);
  const model::Graph graph =
      g.finish({g.node("QLinearConv", {x, s, z, w, s, z, s, z}, {1, 1024, 2, 2}, {}, DataType::kUint8)});
  EXPECT_NEAR(inference_memory(graph, &graph).retained, 0.3 * 9 * 1024 * 1024, 0.2 * kMb);
}

TEST(InferenceMemory, GrowsWithTheBatch) {
  double last = 0;
  for (int64_t rows : {1, 1024, 4096, 16384}) {
    double peak = inference_memory(matrices(2, rows), nullptr).peak;
    EXPECT_GE(peak, last);
    last = peak;
  }
}

TEST(LargestBatch, IsTheLastThatFits) {
  const MemoryLine line{1, 4, 110, 140};  // 100 and 10 per row
  EXPECT_EQ(largest_batch(line, 109), 0);
  EXPECT_EQ(largest_batch(line, 110), 1);
  EXPECT_EQ(largest_batch(line, 1100), 100);
  EXPECT_EQ(largest_batch(line, 1109), 100);
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
}

}  // namespace
}  // namespace ridge::predict
