#include "model/reader.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "model/test_models.h"

namespace ridge::model {
namespace {

TEST(Reader, GivesNodesTensorsAndRoles) {
  Result<Graph> graph = read_graph(
      "(float[2, 3] x) => (float[2, 4] y) <float[3, 4] w = {1,2,3,4,5,6,7,8,9,10,11,12}> { p = MatMul (x, w) \n y = "
      "Relu (p) }");
  ASSERT_TRUE(graph.ok()) << error_of(graph);
  ASSERT_EQ(graph->nodes.size(), 2U);
  EXPECT_EQ(graph->nodes[0].op, "MatMul");
  EXPECT_EQ(graph->nodes[0].name, "MatMul_0");
  EXPECT_EQ(tensor_named(*graph, "x").role, TensorRole::kInput);
  EXPECT_EQ(tensor_named(*graph, "w").role, TensorRole::kWeight);
  EXPECT_EQ(tensor_named(*graph, "p").role, TensorRole::kActivation);
  EXPECT_EQ(tensor_named(*graph, "p").shape, (Shape{2, 4}));
  EXPECT_EQ(graph->parameters, 12);
  EXPECT_EQ(graph->weight_bytes, 48);
  EXPECT_EQ(graph->opset, 17);
}

TEST(Reader, OrdersNodesThatTheFileHasOutOfOrder) {
  onnx::ModelProto model;
  model.ParseFromString(graph_bytes("(float[2] x) => (float[2] y) { a = Relu (x) \n y = Neg (a) }"));
  model.mutable_graph()->mutable_node()->SwapElements(0, 1);
  Result<Graph> graph = read_bytes(model.SerializeAsString(), "");
  ASSERT_TRUE(graph.ok()) << error_of(graph);
  EXPECT_EQ(graph->nodes[0].op, "Relu");
}

TEST(Reader, LetsVendorOperatorsPassWithUnknownShapes) {
  const char* text = R"(<ir_version: 8, opset_import: ["" : 17, "vendor" : 1]>
      g (float[2] x) => (float[k] y) { a = vendor.Magic (x) y = Relu (a) })";
  Result<Graph> graph = read_bytes(model_bytes(text), "");
  ASSERT_TRUE(graph.ok()) << error_of(graph);
  EXPECT_EQ(graph->nodes[0].domain, "vendor");
  EXPECT_FALSE(tensor_named(*graph, "a").shape.has_value());
}

TEST(Reader, CountsConstantsAndFilledTensorsAsWeights) {
  Result<Graph> graph = read_graph(R"((float[2] x) => (float[2] y) <int64[2] s = {3, 2}> {
      c = Constant <value = float[2] {1, 2}> ()
      a = Add (x, c)
      f = ConstantOfShape (s)
      b = Add (f, a)
      axes = Constant <value_ints = [0]> ()
      y = ReduceSum <keepdims = 0> (b, axes) })");
  ASSERT_TRUE(graph.ok()) << error_of(graph);
  EXPECT_EQ(graph->parameters, 2 + 6);
  EXPECT_EQ(tensor_named(*graph, "c").role, TensorRole::kWeight);
  EXPECT_EQ(tensor_named(*graph, "f").role, TensorRole::kWeight);
}

TEST(Reader, ReadsSubgraphsAsAttributes) {
  Result<Graph> graph = read_graph(R"((bool flag, float[4] x) => (float[4] y) {
      y = If (flag) < then_branch = yes () => (float[4] a) { a = Abs (x) },
                      else_branch = no () => (float[4] b) { b = Neg (x) } > })");
  ASSERT_TRUE(graph.ok()) << error_of(graph);
  auto branch = attribute_or<std::shared_ptr<const Graph>>(graph->nodes[0], "then_branch", nullptr);
  ASSERT_NE(branch, nullptr);
  EXPECT_EQ(branch->nodes[0].op, "Abs");
  EXPECT_EQ(tensor_named(*branch, "x").shape, (Shape{4}));
  EXPECT_EQ(tensor_named(*branch, "a").shape, (Shape{4}));
}

TEST(Reader, SaysWhetherNodesRunOtherGraphs) {
  auto has_subgraphs = [](const std::string& graph) {
    const auto model = UnboundModel::read_bytes(graph_bytes(graph), ".");
    EXPECT_TRUE(model.ok());
    return model && model->has_subgraphs();
  };
  EXPECT_FALSE(has_subgraphs("(float[4] x) => (float[4] y) { y = Abs (x) }"));
  EXPECT_TRUE(has_subgraphs(R"((bool flag, float[4] x) => (float[4] y) {
      y = If (flag) < then_branch = yes () => (float[4] a) { a = Abs (x) },
                      else_branch = no () => (float[4] b) { b = Neg (x) } > })"));
}

TEST(Reader, InlinesTheModelsOwnFunctions) {
  const char* text = R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
       g (float[2, 4] x) => (float[2, 4] y) { y = local.twice (x) }
       <opset_import: ["" : 17], domain: "local"> twice (a) => (b) { b = Add (a, a) })";
  Result<Graph> graph = read_bytes(model_bytes(text), "");
  ASSERT_TRUE(graph.ok()) << error_of(graph);
  ASSERT_EQ(graph->nodes.size(), 1U);
  EXPECT_EQ(graph->nodes[0].op, "Add");
}

}  // namespace
}  // namespace ridge::model
