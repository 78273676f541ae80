#include "model/ir.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "model/reader.h"
#include "model/test_models.h"

namespace ridge::model {
namespace {

// Operators in a row, each with one result.
class Ir {
 public:
  Ir& input(const std::string& name, const Shape& shape) { return add("Parameter", name, {}, shape); }
  Ir& constant(const std::string& name, const Shape& shape, std::vector<int64_t> values = {},
               const std::string& type = "f32") {
    add("Constant", name, {}, shape, {}, values.empty() ? type : "i64");
    model_.operators.back().values = std::move(values);
    return *this;
  }
  Ir& add(const std::string& type, const std::string& name, const std::vector<int>& inputs, const Shape& shape,
          std::map<std::string, std::string> attributes = {}, const std::string& element = "f32") {
    IrOperator op;
    op.name = name;
    op.type = type;
    op.attributes = std::move(attributes);
    op.inputs = inputs;
    if (type != "Result") {
      op.outputs = {static_cast<int>(model_.tensors.size())};
      model_.tensors.push_back({name, element, shape});
    }
    model_.operators.push_back(std::move(op));
    return *this;
  }
  Ir& result(int tensor) { return add("Result", "result", {tensor}, {}); }
  const IrModel& model() const { return model_; }

 private:
  IrModel model_;
};

// The open dimension of every tensor is the batch, as OpenVINO would say.
class Source final : public IrSource {
 public:
  explicit Source(IrModel model) : model_(std::move(model)) {}
  Result<IrModel> at(const std::map<std::string, Shape>& shapes, DataSizes) const override {
    IrModel bound = model_;
    if (shapes.empty()) return bound;
    for (IrTensor& tensor : bound.tensors)
      for (int64_t& size : *tensor.shape) size = size < 0 ? shapes.begin()->second.front() : size;
    return bound;
  }

 private:
  const IrModel model_;
};

Graph graph_of(const Ir& ir, const Binding& binding = {}) {
  const Result<UnboundModel> model = UnboundModel::from_ir("m.xml", std::make_shared<Source>(ir.model()));
  EXPECT_TRUE(model.ok());
  Result<Graph> graph = model->bind(binding);
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return std::move(*graph);
}

std::string ops_of(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes)
    text += (text.empty() ? "" : " ") + (node.domain.empty() ? "" : node.domain + ".") + node.op;
  return text;
}

Shape shape_of(const Graph& graph, const std::string& tensor) {
  return tensor_named(graph, tensor).shape.value_or(Shape{-99});
}

const std::map<std::string, std::string> kWindow = {{"strides", "2,2"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}};

TEST(Ir, AConvolutionHasItsNamesAndTheBoundBatch) {
  const Graph graph = graph_of(Ir().input("image", {-1, 3, 8, 8})
                                   .constant("w", {4, 3, 3, 3})
                                   .add("Convolution", "conv1", {0, 1}, {-1, 4, 4, 4}, kWindow)
                                   .add("Relu", "relu1", {2}, {-1, 4, 4, 4})
                                   .result(3),
                               at_batch(5));
  EXPECT_EQ(ops_of(graph), "Conv Relu");
  EXPECT_EQ(graph.nodes[0].name, "conv1");
  EXPECT_EQ(attribute_or(graph.nodes[0], "pads", std::vector<int64_t>()), (std::vector<int64_t>{1, 1, 1, 1}));
  EXPECT_EQ(shape_of(graph, "relu1"), (Shape{5, 4, 4, 4}));
  EXPECT_EQ(graph.input_specs[0].symbols, (std::vector<std::string>{"?", "", "", ""}));
  EXPECT_EQ(graph.output_specs[0].name, "relu1");
  EXPECT_EQ(graph.parameters, 4 * 3 * 9);
}

TEST(Ir, GroupsLeaveTheShapeOfTheWeights) {
  const Graph graph = graph_of(Ir().input("x", {1, 6, 8, 8})
                                   .constant("w", {2, 5, 3, 3, 3})
                                   .add("GroupConvolution", "grouped", {0, 1}, {1, 10, 4, 4}, kWindow)
                                   .result(2));
  EXPECT_EQ(ops_of(graph), "Reshape Conv");
  EXPECT_EQ(shape_of(graph, graph.nodes[0].name), (Shape{10, 3, 3, 3}));
  EXPECT_EQ(attribute_or<int64_t>(graph.nodes[1], "group", 0), 2);
}

TEST(Ir, ATransposedOperandIsANodeOfItsOwn) {
  const Graph graph = graph_of(Ir().input("x", {1, 100})
                                   .constant("w", {20, 100})
                                   .add("MatMul", "y", {0, 1}, {1, 20}, {{"transpose_b", "true"}})
                                   .result(2));
  EXPECT_EQ(ops_of(graph), "Transpose MatMul");
  EXPECT_EQ(shape_of(graph, graph.nodes[0].name), (Shape{100, 20}));
  EXPECT_EQ(graph.weight_bytes, 8000);
}

TEST(Ir, AnOperatorWithoutARowKeepsItsShapeAndIsOfNoKnownDomain) {
  const Graph graph = graph_of(
      Ir().input("x", {1, 6}).add("TensorIterator", "loop", {0}, {1, 7}).add("Tanh", "y", {1}, {1, 7}).result(2));
  EXPECT_EQ(ops_of(graph), "ir.TensorIterator Tanh");
  EXPECT_EQ(shape_of(graph, "y"), (Shape{1, 7}));
}

TEST(Ir, WeightsOfBytesAreDequantised) {
  const Graph graph = graph_of(Ir().input("x", {1, 64})
                                   .constant("w8", {64, 8}, {}, "i8")
                                   .add("Convert", "w32", {1}, {64, 8})
                                   .constant("scale", {1, 8})
                                   .add("Multiply", "w", {2, 3}, {64, 8})
                                   .add("MatMul", "y", {0, 4}, {1, 8})
                                   .result(5));
  EXPECT_EQ(ops_of(graph), "Cast DequantizeLinear MatMul");
  EXPECT_EQ(tensor_named(graph, "w8").type, DataType::kInt8);
}

TEST(Ir, ConstantsOfIntegersAreKnown) {
  const Graph graph = graph_of(Ir().input("x", {6, 4})
                                   .constant("order", {2}, {1, 0})
                                   .add("Transpose", "t", {0, 1}, {4, 6})
                                   .constant("shape", {1}, {24})
                                   .add("Reshape", "r", {2, 3}, {24})
                                   .result(4));
  EXPECT_EQ(attribute_or(graph.nodes[0], "perm", std::vector<int64_t>()), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(tensor_named(graph, "shape").constant, (std::vector<int64_t>{24}));
}

TEST(Ir, AnInputThatIsAnOutputIsCopied) { EXPECT_EQ(ops_of(graph_of(Ir().input("x", {1, 2}).result(0))), "Identity"); }

TEST(Ir, TensorsOfOneNameAreToldApart) {
  const Graph graph =
      graph_of(Ir().input("x", {1, 2}).add("Relu", "y", {0}, {1, 2}).add("Relu", "y", {1}, {1, 2}).result(2));
  EXPECT_EQ(graph.tensors.size(), 3u);
}

}  // namespace
}  // namespace ridge::model
