#include "measure/layers.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/fake_clock.h"

namespace ridge::measure {
namespace {

// x [1,64,32] · w [32,16] → y, shapes unknown in the graph as in an engine's own.
model::Graph matmul() {
  model::Graph graph;
  graph.tensors = {{"x", DataType::kFp32, {}, model::TensorRole::kInput, {}},
                   {"w", DataType::kFp32, Shape{32, 16}, model::TensorRole::kWeight, {}},
                   {"y", DataType::kFp32, {}, model::TensorRole::kActivation, {}}};
  graph.nodes = {{"product", "MatMul", "", {0, 1}, {2}, {}}};
  graph.inputs = {0};
  graph.outputs = {2};
  return graph;
}

engine::NodeTime timed(const std::string& name, const std::string& op, double us) {
  engine::NodeTime time;
  time.name = name;
  time.op = op;
  time.mean_us = us;
  time.runs = time.calls = 4;
  time.inputs = {{DataType::kFp32, {1, 64, 32}}, {DataType::kFp32, {32, 16}}};
  time.outputs = {{DataType::kFp32, {1, 64, 16}}};
  return time;
}

cost::DeviceLimits layer_limits() {
  cost::DeviceLimits layer_limits;
  layer_limits.flops_per_s = {{Precision::kFp32, 1e9}};
  return layer_limits;
}

TEST(Layers, AreCountedWithTheShapesThatTheProfileSaw) {
  model::Graph graph = matmul();
  cost::DeviceLimits device = layer_limits();
  std::vector<engine::NodeTime> times = {timed("product", "MatMul", 100)};
  std::vector<Layer> layers = layers_of(times, &graph, nullptr, &device);
  ASSERT_EQ(layers.size(), 1u);
  EXPECT_DOUBLE_EQ(layers[0].flops, 2.0 * 64 * 32 * 16);
  EXPECT_DOUBLE_EQ(layers[0].bytes, 4.0 * (64 * 32 + 32 * 16 + 64 * 16));
  EXPECT_NEAR(layers[0].flops_per_s, 65536 / 100e-6, 1);
  EXPECT_NEAR(layers[0].bound_ms, 0.065536, 1e-9);
  EXPECT_NEAR(layers[0].percent_of_limit, 65.536, 1e-6);
  EXPECT_EQ(layers[0].limiter, cost::Limiter::kCompute);
}

TEST(Layers, AWeightThatTheEnginePackedAwayDoesNotShiftTheOthers) {
  model::Graph graph = matmul();
  graph.tensors.push_back({"bias", DataType::kFp32, Shape{16}, model::TensorRole::kWeight, {}});
  graph.nodes[0].op = "Gemm";
  graph.nodes[0].inputs = {0, 1, 3};
  engine::NodeTime time = timed("product", "Gemm", 100);
  time.inputs = {{DataType::kFp32, {64, 32}}, {DataType::kFp32, {16}}};  // x and the bias
  time.outputs = {{DataType::kFp32, {64, 16}}};
  std::vector<Layer> layers = layers_of(std::vector<engine::NodeTime>{time}, &graph, nullptr, nullptr);
  EXPECT_DOUBLE_EQ(layers[0].bytes, 4.0 * (64 * 32 + 32 * 16 + 16 + 64 * 16));
}

TEST(Layers, ComeSlowestFirstAndOnesWithoutANodeHaveNoRule) {
  model::Graph graph = matmul();
  std::vector<engine::NodeTime> times = {timed("product", "MatMul", 5), timed("unknown", "Mystery", 50)};
  std::vector<Layer> layers = layers_of(times, &graph, nullptr, nullptr);
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0].op, "Mystery");
  EXPECT_FALSE(layers[0].has_rule);
  EXPECT_TRUE(layers[1].has_rule);
  EXPECT_DOUBLE_EQ(layers[1].bound_ms, 0);
}

TEST(Layers, ANodeInALoopIsCountedAsOftenAsItRan) {
  model::Graph graph = matmul();
  std::vector<engine::NodeTime> times = {timed("product", "MatMul", 100)};
  times[0].calls = 12;  // in four runs
  EXPECT_DOUBLE_EQ(layers_of(times, &graph, nullptr, nullptr)[0].flops, 3 * 2.0 * 64 * 32 * 16);
}

// Names as in ONNX Runtime's profile: the operator and a number of the engine's own.
TEST(Layers, NodesWithoutANameAreFoundInTheOrderOfTheGraph) {
  model::Graph graph = matmul();
  graph.tensors.push_back({"v", DataType::kFp32, Shape{16, 8}, model::TensorRole::kWeight, {}});
  graph.tensors.push_back({"z", DataType::kFp32, {}, model::TensorRole::kActivation, {}});
  graph.nodes.push_back({"MatMul_4", "MatMul", "", {2, 3}, {4}, {}});
  for (model::Node& node : graph.nodes) node.named = false;
  std::vector<engine::NodeTime> times = {timed("MatMul_4", "MatMul", 100), timed("MatMul_7", "MatMul", 50)};
  times[1].inputs = {{DataType::kFp32, {1, 64, 16}}, {DataType::kFp32, {16, 8}}};
  times[1].outputs = {{DataType::kFp32, {1, 64, 8}}};
  std::vector<Layer> layers = layers_of(times, &graph, nullptr, nullptr);
  EXPECT_DOUBLE_EQ(layers[0].flops, 2.0 * 64 * 32 * 16);
  EXPECT_DOUBLE_EQ(layers[1].flops, 2.0 * 64 * 16 * 8);
}

TEST(Layers, NodesWithoutANameAreNotGuessedWhenSomeDidNotRun) {
  model::Graph graph = matmul();
  graph.nodes[0].named = false;
  graph.nodes.push_back(graph.nodes[0]);
  EXPECT_FALSE(layers_of(std::vector{timed("MatMul_0", "MatMul", 100)}, &graph, nullptr, nullptr)[0].has_rule);
}

TEST(MeasureLayers, EndsBeforeTheProfileOfAQuickModelIsTooLongToBeRead) {
  plan::Plan plan;
  plan.model = "scripted";
  plan.engine = "fake";
  plan.options = {{"latency_ms", "0.01"}};
  plan.shapes["x"] = {1, 16};
  FakeClock clock;
  const TimePoint begin = clock.now();
  const Result<std::vector<Layer>> layers =
      measure_layers(plan, nullptr, nullptr, std::chrono::seconds(10), 0, nullptr, clock);
  ASSERT_TRUE(layers) << layers.error().message;
  EXPECT_EQ(layers->size(), 1u);
  EXPECT_NEAR(to_seconds(clock.now() - begin), 50'002 * 1e-5, 1e-3);
}

TEST(Layers, TheirMultiplyAddsBoundAModelOfUnknownShapes) {
  const std::vector<Layer> layers = {{.name = "mm", .op = "MatMul", .flops = 210, .macs = 100},
                                     {.name = "relu", .op = "Relu", .flops = 5}};
  const cost::Costs costs = costs_of(layers, Precision::kFp32);
  ASSERT_EQ(costs.nodes.size(), 1U);
  EXPECT_EQ(costs.macs, 100);
  cost::DeviceLimits limits;
  limits.flops_per_s = {{Precision::kFp32, 2e5}};
  limits.levels = {{"DRAM", 1e9, std::numeric_limits<double>::infinity()}};
  EXPECT_DOUBLE_EQ(cost::bound(costs, limits).ms, 1);
}

}  // namespace
}  // namespace ridge::measure
