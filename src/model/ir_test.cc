#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/temporary_folder.h"
#include "model/inputs.h"
#include "model/ir_rows.h"
#include "model/test_models.h"

namespace ridge::model {
namespace {

// "1,3,-1" as the dimensions of a port.
std::string dims(const std::string& shape) {
  std::string text;
  for (size_t at = 0; at < shape.size();) {
    const size_t comma = std::min(shape.find(',', at), shape.size());
    text += "<dim>" + shape.substr(at, comma - at) + "</dim>";
    at = comma + 1;
  }
  return text;
}

// IR of layers in a row: each reads the results named in `from`.
class Ir {
 public:
  Ir& input(const std::string& name, const std::string& shape, const std::string& type = "f32") {
    return layer("Parameter", name, R"(shape=")" + shape + R"(" element_type=")" + type + R"(")", {}, shape);
  }
  // Its values begin at `offset` of the weights.
  Ir& constant(const std::string& name, const std::string& shape, int offset, int size,
               const std::string& type = "f32") {
    return layer("Const", name,
                 R"(element_type=")" + type + R"(" shape=")" + shape + R"(" offset=")" + std::to_string(offset) +
                     R"(" size=")" + std::to_string(size) + R"(")",
                 {}, shape,
                 type == "i64"  ? "I64"
                 : type == "i8" ? "I8"
                                : "FP32");
  }
  Ir& layer(const std::string& type, const std::string& name, const std::string& data,
            const std::vector<std::string>& from, const std::string& shape, const std::string& precision = "FP32",
            const std::string& version = "opset1") {
    const std::string id = std::to_string(ids_.size());
    std::string inputs;
    for (size_t i = 0; i < from.size(); ++i) {
      inputs += R"(<port id=")" + std::to_string(i) + R"(">)" + dims(shapes_.at(from[i])) + "</port>";
      edges_ += R"(<edge from-layer=")" + ids_.at(from[i]) + R"(" from-port="9" to-layer=")" + id + R"(" to-port=")" +
                std::to_string(i) + R"("/>)";
    }
    layers_ += R"(<layer id=")" + id + R"(" name=")" + name + R"(" type=")" + type + R"(" version=")" + version +
               R"("><data )" + data + "/><input>" + inputs + "</input>";
    if (type != "Result")
      layers_ += R"(<output><port id="9" precision=")" + precision + R"(">)" + dims(shape) + "</port></output>";
    layers_ += "</layer>";
    ids_[name] = id;
    shapes_[name] = shape;
    return *this;
  }
  Ir& result(const std::string& from) { return layer("Result", from + "/result", "", {from}, ""); }
  std::string text(const std::string& version = "11") const {
    return R"(<?xml version="1.0"?><net name="m" version=")" + version + R"("><layers>)" + layers_ +
           "</layers><edges>" + edges_ +
           R"(</edges><rt_info><Runtime_version value="2026.4.1-22982-x"/></rt_info></net>)";
  }

 private:
  std::string layers_, edges_;
  std::map<std::string, std::string> ids_, shapes_;
};

// The model beside weights that begin with the given integers and go on with zeros.
Result<Graph> read_ir(const std::string& text, const Binding& binding = {}, const std::vector<int64_t>& values = {},
                      size_t bytes = 4096) {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  std::string weights(std::max(bytes, values.size() * sizeof(int64_t)), '\0');
  for (size_t i = 0; i < values.size(); ++i)
    std::memcpy(weights.data() + i * sizeof(int64_t), &values[i], sizeof(int64_t));
  std::ofstream(folder->path() + "/model.bin", std::ios::binary) << weights;
  return read_bytes(text, folder->path(), binding);
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

const char* const kWindow = R"(strides="2, 2" dilations="1, 1" pads_begin="1, 1" pads_end="1, 1" auto_pad="explicit")";

TEST(Ir, AConvolutionIsReadWithItsNamesAndTheBatchIsBound) {
  const std::string text = Ir().input("image", "-1,3,8,8")
                               .constant("w", "4,3,3,3", 0, 432)
                               .layer("Convolution", "conv1", kWindow, {"image", "w"}, "-1,4,4,4")
                               .layer("ReLU", "relu1", "", {"conv1"}, "-1,4,4,4")
                               .result("relu1")
                               .text();
  const Result<Graph> graph = read_ir(text, at_batch(5));
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(ops_of(*graph), "Conv Relu");
  EXPECT_EQ(graph->nodes[0].name, "conv1");
  EXPECT_EQ(shape_of(*graph, "relu1"), (Shape{5, 4, 4, 4}));
  EXPECT_EQ(graph->input_specs[0].spec.shape, (Shape{5, 3, 8, 8}));
  EXPECT_TRUE(has_open_batch(*graph));
  EXPECT_EQ(graph->output_specs[0].name, "relu1");
  EXPECT_EQ(graph->parameters, 4 * 3 * 9);
  EXPECT_EQ(graph->producer, "OpenVINO 2026.4.1");
}

TEST(Ir, LargeWeightsStayInTheirFileWhichMustBeWhole) {
  const std::string text =
      Ir().input("x", "1,100")
          .constant("w", "100,100", 0, 40000)
          .layer("MatMul", "product", R"(transpose_a="false" transpose_b="true")", {"x", "w"}, "1,100")
          .result("product")
          .text();
  const Result<Graph> graph = read_ir(text, {}, {}, 40000);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(ops_of(*graph), "Transpose MatMul");
  EXPECT_EQ(graph->weight_bytes, 40000);
  const std::string cut = error_of(read_ir(text, {}, {}, 39999));
  EXPECT_NE(cut.find("cut off"), std::string::npos) << cut;
  const std::string missing = error_of(read_bytes(text, "/nowhere"));
  EXPECT_NE(missing.find("model.bin"), std::string::npos) << missing;
}

TEST(Ir, GroupsLeaveTheShapeOfTheWeights) {
  const Result<Graph> graph = read_ir(Ir().input("x", "1,6,8,8")
                                          .constant("w", "2,5,3,3,3", 0, 1080)
                                          .layer("GroupConvolution", "grouped", kWindow, {"x", "w"}, "1,10,4,4")
                                          .result("grouped")
                                          .text());
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(ops_of(*graph), "Reshape Conv");
  EXPECT_EQ(shape_of(*graph, "grouped"), (Shape{1, 10, 4, 4}));
  EXPECT_EQ(attribute_or<int64_t>(graph->nodes[1], "group", 0), 2);
}

TEST(Ir, AnOperatorWithoutARowKeepsItsShapeAndIsOfNoKnownDomain) {
  const Result<Graph> graph = read_ir(Ir().input("x", "1,6")
                                          .layer("TensorIterator", "loop", "", {"x"}, "1,7")
                                          .layer("Tanh", "y", "", {"loop"}, "1,7")
                                          .result("y")
                                          .text());
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(ops_of(*graph), "ir.TensorIterator Tanh");
  EXPECT_EQ(shape_of(*graph, "y"), (Shape{1, 7}));
}

TEST(Ir, NoTypeHasTwoRows) {
  std::set<std::string_view> types;
  for (const std::span<const IrRow> rows :
       {pointwise_rows(), window_rows(), reduction_rows(), movement_rows(), other_rows()})
    for (const IrRow& row : rows) EXPECT_TRUE(types.insert(row.type).second) << row.type;
}

TEST(Ir, ShapesFollowFromSmallConstants) {
  const Result<Graph> graph = read_ir(Ir().input("x", "-1,6,4")
                                          .constant("order", "3", 0, 24, "i64")
                                          .layer("Transpose", "t", "", {"x", "order"}, "-1,4,6")
                                          .constant("shape", "2", 24, 16, "i64")
                                          .layer("Reshape", "r", R"(special_zero="true")", {"t", "shape"}, "-1,24")
                                          .result("r")
                                          .text(),
                                      at_batch(3), {0, 2, 1, 0, -1});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(shape_of(*graph, "t"), (Shape{3, 4, 6}));
  EXPECT_EQ(shape_of(*graph, "r"), (Shape{3, 24}));
}

TEST(Ir, WeightsOfBytesAreDequantised) {
  const Result<Graph> graph = read_ir(Ir().input("x", "1,64")
                                          .constant("w8", "64,8", 0, 512, "i8")
                                          .layer("Convert", "w32", R"(destination_type="f32")", {"w8"}, "64,8")
                                          .constant("scale", "1,8", 512, 32)
                                          .layer("Multiply", "w", "", {"w32", "scale"}, "64,8")
                                          .layer("MatMul", "y", "", {"x", "w"}, "1,8")
                                          .result("y")
                                          .text());
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(ops_of(*graph), "Cast DequantizeLinear MatMul");
  EXPECT_EQ(tensor_named(*graph, "w8").type, DataType::kInt8);
}

TEST(Ir, SaysWhatIsWrongWithAFile) {
  EXPECT_NE(error_of(read_ir("<?xml version=\"1.0\"?><net")).find("not sound XML"), std::string::npos);
  EXPECT_NE(error_of(read_ir("<?xml version=\"1.0\"?><project/>")).find("no <net>"), std::string::npos);
  EXPECT_NE(error_of(read_ir(Ir().input("x", "1,2").result("x").text("7"))).find("newer OpenVINO"), std::string::npos);
  EXPECT_NE(error_of(read_ir(Ir().input("x", "1,2").constant("c", "2", 0, 9).result("x").text())).find("9 bytes"),
            std::string::npos);
  std::string edge = Ir().input("x", "1,2").result("x").text();
  edge.replace(edge.find("from-port=\"9\""), 13, "from-port=\"8\"");
  EXPECT_NE(error_of(read_ir(edge)).find("do not exist"), std::string::npos);
  EXPECT_NE(error_of(read_ir(Ir().input("x", "1,-3").result("x").text())).find("size '-3'"), std::string::npos);
}

TEST(Ir, AnInputThatIsAnOutputIsCopied) {
  const Result<Graph> graph = read_ir(Ir().input("x", "1,2").result("x").text());
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(ops_of(*graph), "Identity");
}

}  // namespace
}  // namespace ridge::model
