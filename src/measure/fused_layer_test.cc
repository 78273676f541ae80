#include "measure/fused_layer.h"

#include <gtest/gtest.h>

namespace ridge::measure {
namespace {

// y = relu(x [4,8] · w [8,16]), and z = tanh(y).
model::Graph product_and_relu() {
  model::Graph graph;
  graph.tensors = {{"x", DataType::kFp32, Shape{4, 8}, model::TensorRole::kInput, {}},
                   {"w", DataType::kFp32, Shape{8, 16}, model::TensorRole::kWeight, {}},
                   {"m", DataType::kFp32, Shape{4, 16}, model::TensorRole::kActivation, {}},
                   {"y", DataType::kFp32, Shape{4, 16}, model::TensorRole::kActivation, {}},
                   {"z", DataType::kFp32, Shape{4, 16}, model::TensorRole::kActivation, {}}};
  graph.nodes = {{"product", "MatMul", "", {0, 1}, {2}, {}},
                 {"clip", "Relu", "", {2}, {3}, {}},
                 {"squash", "Tanh", "", {3}, {4}, {}}};
  graph.inputs = {0};
  graph.outputs = {4};
  return graph;
}

engine::NodeTime layer(std::vector<std::string> sources, DataType type = DataType::kFp32) {
  engine::NodeTime time;
  time.sources = std::move(sources);
  time.inputs = {{type, {4, 8}}};
  return time;
}

TEST(FusedLayer, CountsAllItsNodesAndOnlyTheBytesThatCrossItsBorder) {
  const model::Graph graph = product_and_relu();
  SourceNodes nodes(graph);
  const std::optional<SourceLayer> both = nodes.take(layer({"product", "clip"}));
  ASSERT_TRUE(both.has_value());
  EXPECT_DOUBLE_EQ(both->cost.flops, 2 * 4 * 8 * 16 + 4 * 16);
  EXPECT_DOUBLE_EQ(both->cost.bytes_read, 4 * (4 * 8 + 8 * 16));
  EXPECT_DOUBLE_EQ(both->cost.bytes_written, 4 * 4 * 16);  // y; m stays inside
  Layer named{.name = "product/fused", .op = "FullyConnected"};
  name_after(both->own, named);
  EXPECT_EQ(named.name, "product");
  EXPECT_EQ(named.op, "MatMul");
  EXPECT_EQ(named.nodes, (std::vector<std::string>{"product", "clip"}));
}

TEST(FusedLayer, IsBoundedAtTheTypeThatItsFirstInputHas) {
  const model::Graph graph = product_and_relu();
  const std::optional<SourceLayer> taken = SourceNodes(graph).take(layer({"product"}, DataType::kBf16));
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->cost.precision, Precision::kBf16);
  EXPECT_DOUBLE_EQ(taken->cost.bytes_read, 2 * (4 * 8 + 8 * 16));
}

TEST(FusedLayer, FindsANodeByItsNameAndByWhatItGives) {
  const model::Graph graph = product_and_relu();
  SourceNodes nodes(graph);
  EXPECT_TRUE(nodes.take(layer({"z"})).has_value());
  EXPECT_TRUE(nodes.take(layer({"product"})).has_value());
}

TEST(FusedLayer, FindsTheProductWhoseNormalisationWasFoldedIntoItsWeights) {
  const model::Graph graph = product_and_relu();
  engine::NodeTime time = layer({"Multiply_7680", "clip"});
  time.multiplies = true;
  const std::optional<SourceLayer> taken = SourceNodes(graph).take(time);
  ASSERT_TRUE(taken.has_value());
  EXPECT_DOUBLE_EQ(taken->cost.macs, 4 * 8 * 16);
  time.sources = {"squash"};
  EXPECT_FALSE(SourceNodes(graph).take(time).has_value()) << "a product without its product has no cost to show";
}

TEST(FusedLayer, ChargesANodeOnceAndNothingForNamesThatTheModelLacks) {
  const model::Graph graph = product_and_relu();
  SourceNodes nodes(graph);
  EXPECT_TRUE(nodes.take(layer({"product"})).has_value());
  EXPECT_FALSE(nodes.take(layer({"product"})).has_value());
  EXPECT_FALSE(nodes.take(layer({"product/transpose_b"})).has_value());
  EXPECT_FALSE(nodes.take(layer({})).has_value());
}

}  // namespace
}  // namespace ridge::measure
