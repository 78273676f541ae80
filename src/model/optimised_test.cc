#include "model/optimised.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "model/model_file.h"
#include "model/test_models.h"

namespace ridge::model {
namespace {

class OptimisedTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = folder_.path() + "/" + name;
    EXPECT_TRUE(write_file_atomically(path, model_bytes(text)));
    return path;
  }
  TemporaryFolder folder_ = *TemporaryFolder::make();
};

TEST_F(OptimisedTest, IsReadWithVendorOperators) {
  const char* text = R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x) => (float[2] y) <int64[1] s = {2}> {
        a = com.microsoft.nchwc.ReorderInput (x) y = com.microsoft.FusedConv (a, s) })";
  Result<Graph> graph = read_optimised(write("o.onnx", text));
  ASSERT_TRUE(graph.ok()) << error_of(graph);
  EXPECT_EQ(graph->nodes[0].domain, "com.microsoft.nchwc");
  EXPECT_EQ(tensor_named(*graph, "y").shape, (Shape{2}));
  EXPECT_EQ(tensor_named(*graph, "s").constant, (std::vector<int64_t>{2}));
}

constexpr const char* kFused = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n, 4] x) => (float[n, 8] y) <int64[1] small = {7}> {
      inner = com.microsoft.FusedMatMul (x, w) y = Relu (inner) })";

TEST_F(OptimisedTest, TakesShapesFromTensorsOfTheSameName) {
  Result<Graph> graph = read_optimised(write("o.onnx", kFused));
  ASSERT_TRUE(graph) << error_of(graph);
  EXPECT_FALSE(has_all_shapes(*graph));
  Result<Graph> bound =
      read_graph("(float[n, 4] x, float[4, 8] w) => (float[n, 8] y) { inner = MatMul (x, w) y = Relu (inner) }", [] {
        Binding binding;
        binding.symbols["n"] = 3;
        return binding;
      }());
  ASSERT_TRUE(bound) << error_of(bound);
  complete_shapes(*graph, *bound);
  EXPECT_TRUE(has_all_shapes(*graph));
  EXPECT_EQ(tensor_named(*graph, "inner").shape, (Shape{3, 8}));
  EXPECT_EQ(tensor_named(*graph, "inner").type, DataType::kFp32);
  EXPECT_EQ(tensor_named(*graph, "x").shape, (Shape{3, 4}));
  EXPECT_EQ(graph->input_specs[0].spec.shape, (Shape{3, 4}));
  EXPECT_EQ(graph->output_specs[0].shape, (Shape{3, 8}));
}

TEST_F(OptimisedTest, ANameWithTwoShapesSaysNothing) {
  Result<Graph> graph = read_optimised(write("o.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[4] x) => (float[n] y) { t = Abs (x) y = Neg (t) })"));
  ASSERT_TRUE(graph) << error_of(graph);
  Graph other;
  other.tensors = {{"t", DataType::kFp32, Shape{4}, {}, {}}, {"t", DataType::kFp32, Shape{5}, {}, {}}};
  complete_shapes(*graph, other);
  EXPECT_FALSE(tensor_named(*graph, "t").shape);
}

// The engine's input knows sizes of inputs and shared tensors, has weights of other files as inputs, and names the
// rest.
TEST_F(OptimisedTest, AsksForShapesWithoutWeights) {
  const std::string path = write("o.onnx", kFused), question = folder_.path() + "/question.onnx";
  onnx::ModelProto model;
  ASSERT_TRUE(load(path, model));
  onnx::TensorProto& weight = *model.mutable_graph()->add_initializer();
  weight.set_name("w");
  weight.set_data_type(onnx::TensorProto::FLOAT);
  weight.add_dims(4);
  weight.add_dims(8);
  weight.set_data_location(onnx::TensorProto::EXTERNAL);
  auto& entry = *weight.add_external_data();
  entry.set_key("location");
  entry.set_value("gone");
  ASSERT_TRUE(write_file_atomically(path, model.SerializeAsString()));
  Graph bound;
  bound.tensors = {{"x", DataType::kFp32, Shape{3, 4}, TensorRole::kInput, {}}};
  ASSERT_TRUE(OptimisedModel::read(path)->write_shape_question(bound, question));
  ASSERT_TRUE(load(question, model));
  const onnx::GraphProto& graph = model.graph();
  ASSERT_EQ(graph.initializer_size(), 1);
  EXPECT_EQ(graph.initializer(0).name(), "small");
  ASSERT_EQ(graph.input_size(), 2);
  EXPECT_EQ(graph.input(0).type().tensor_type().shape().dim(0).dim_value(), 3);
  EXPECT_EQ(graph.input(1).name(), "w");
  EXPECT_EQ(graph.input(1).type().tensor_type().shape().dim(1).dim_value(), 8);
  EXPECT_FALSE(graph.output(0).type().tensor_type().has_shape());
  ASSERT_EQ(graph.value_info_size(), 1);
  EXPECT_EQ(graph.value_info(0).name(), "inner");
}

// A shape that the file declares reaches the engine, which takes it for known.
TEST_F(OptimisedTest, AsksForOpenShapesWithWhatTheFileDeclares) {
  const std::string question = folder_.path() + "/question.onnx";
  onnx::ModelProto file, asked;
  const char* kDeclared = R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[n, 4] x) => (float[n, 8] y) <float[n, 8] inner> { inner = MatMul (x, x) y = Relu (inner) })";
  ASSERT_TRUE(load(write("file.onnx", kDeclared), file));
  ASSERT_TRUE(OptimisedModel::read(write("o.onnx", kFused))->write_open_question(file, question));
  ASSERT_TRUE(load(question, asked));
  ASSERT_EQ(asked.graph().value_info_size(), 1);
  EXPECT_EQ(asked.graph().value_info(0).type().tensor_type().shape().dim(0).dim_param(), "n");
  EXPECT_EQ(asked.graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "n");
}

TEST_F(OptimisedTest, ResultsWithAnUnnamedSizeAreOpen) {
  const auto open = read_open_results(write("o.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[n] x) => (float[n] y) <float[n, 3] named, float[?, 3] unnamed, float unshaped> { y = Relu (x) })"));
  ASSERT_TRUE(open) << open.error().message;
  EXPECT_TRUE(open->contains("unnamed"));
  EXPECT_FALSE(open->contains("named"));
}

}  // namespace
}  // namespace ridge::model
