// Invalid or unreadable models, and their errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "model/test_models.h"

namespace ridge::model {
namespace {

using testing::HasSubstr;

TEST(Reader, RefusesOpsetsItDoesNotKnow) {
  EXPECT_THAT(error_of(read_graph(kRelu, {}, 6)), HasSubstr("opset 6 is older than 7"));
  EXPECT_THAT(error_of(read_graph(kRelu, {}, 999)), HasSubstr("opset 999 is newer than"));
  EXPECT_TRUE(read_graph(kRelu, {}, 7).ok());
}

TEST(Reader, RefusesDomainsThatTheFileDoesNotImport) {
  onnx::ModelProto model;
  model.ParseFromString(graph_bytes(kRelu));
  model.mutable_graph()->mutable_node(0)->set_domain("vendor");
  EXPECT_THAT(error_of(read_bytes(model.SerializeAsString(), "")),
              HasSubstr("'vendor', which the model does not import"));
}

TEST(Reader, SaysWhatToDoWithATensorWithoutAShape) {
  onnx::ModelProto model;
  model.ParseFromString(graph_bytes(kRelu));
  model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  const std::string error = error_of(read_bytes(model.SerializeAsString(), ""));
  EXPECT_THAT(error, HasSubstr("'" + model.graph().output(0).name() + "' has no shape"));
  EXPECT_THAT(error, HasSubstr("config.pbtxt"));
}

TEST(Reader, RefusesOperatorsThatDoNotExist) {
  EXPECT_THAT(error_of(read_graph("(float[2] x) => (float[2] y) { y = Relo (x) }")), HasSubstr("Relo"));
}

TEST(Reader, RefusesSplitsThatMiscountTheirOutputs) {
  EXPECT_THAT(error_of(read_graph("(float[4] x) => (float[2] y, float[2] z)"
                                  "{ y, z = Split <num_outputs: int = 1099511627776> (x) }",
                                  {}, 18)),
              HasSubstr("num_outputs 1099511627776 and 2 outputs"));
}

TEST(Reader, RefusesTensorsWhoseDataDoesNotFitTheirShape) {
  onnx::ModelProto model;
  model.ParseFromString(graph_bytes("(float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }"));
  onnx::ModelProto fewer = model, huge = model, negative = model;
  fewer.mutable_graph()->mutable_initializer(0)->set_dims(0, 3);
  huge.mutable_graph()->mutable_initializer(0)->set_dims(0, int64_t{1} << 60);
  negative.mutable_graph()->mutable_initializer(0)->set_dims(0, -2);
  EXPECT_THAT(error_of(read_bytes(fewer.SerializeAsString(), "")),
              HasSubstr("tensor 'w' has 2 values; its shape and type need 3"));
  EXPECT_THAT(error_of(read_bytes(huge.SerializeAsString(), "")), HasSubstr("tensor 'w'"));
  EXPECT_THAT(error_of(read_bytes(negative.SerializeAsString(), "")), HasSubstr("impossible shape [-2]"));
}

TEST(Reader, RefusesFunctionsThatExplode) {
  std::string text = R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
       g (float[2] x) => (float[2] y) { y = local.f0 (x) })";
  for (int i = 0; i < 30; ++i) {
    const std::string next = i == 29 ? "Relu" : "local.f" + std::to_string(i + 1);
    text += "<opset_import: [\"\" : 17, \"local\" : 1], domain: \"local\"> f" + std::to_string(i) +
            " (a) => (c) { b = " + next + " (a) c = " + next + " (b) }\n";
  }
  EXPECT_THAT(error_of(read_bytes(model_bytes(text), "")), HasSubstr("expand to more than"));
}

// Found by the fuzzer: ONNX's inference of TreeEnsemble reads the type of an input that has none.
TEST(Reader, SurvivesOperatorsAfterValuesOfUnknownType) {
  const std::string tree = R"(ai.onnx.ml.TreeEnsemble <nodes_featureids = [0], nodes_splits = float[1] {1},
      nodes_modes = uint8[1] {0}, nodes_truenodeids = [0], nodes_falsenodeids = [0], nodes_trueleafs = [1],
      nodes_falseleafs = [1], leaf_targetids = [0], leaf_weights = float[1] {1}, tree_roots = [0]> (b))";
  const std::string head = R"(<ir_version: 8, opset_import: ["" : 17, "vendor" : 1, "ai.onnx.ml" : 5]> g )";
  const std::string flat = head + "(float[2, 2] x) => (float[k, n] y) { a, b = vendor.Magic (x) y = " + tree + " }";
  EXPECT_TRUE(read_bytes(model_bytes(flat), "").ok());
  const std::string nested = head + R"((bool flag, float[2, 2] x) => (float[k, n] y) {
      y = If (flag) < then_branch = yes () => (float[i, j] t) { a, b = vendor.Magic (x) t = )" +
                             tree + R"( },
                      else_branch = no () => (float[i, j] e) { e = Neg (x) } > })";
  EXPECT_TRUE(read_bytes(model_bytes(nested), "").ok());
}

TEST(Reader, NamesTheNodesOfACycle) {
  onnx::ModelProto model;
  model.ParseFromString(graph_bytes("(float[2] x) => (float[2] y) { a = Add (x, x) \n b = Neg (a) \n y = Abs (b) }"));
  model.mutable_graph()->mutable_node(0)->set_input(1, "b");
  model.mutable_graph()->mutable_node(0)->set_name("first");
  const std::string message = error_of(read_bytes(model.SerializeAsString(), ""));
  EXPECT_THAT(message, HasSubstr("the graph has a cycle of 2 nodes"));
  EXPECT_THAT(message, HasSubstr("'first' needs 'b' of Neg (node 1)"));
}

TEST(Reader, NamesUndefinedAndDoublyDefinedTensors) {
  onnx::ModelProto model;
  model.ParseFromString(graph_bytes("(float[2] x) => (float[2] y) { a = Relu (x) \n y = Neg (a) }"));
  onnx::ModelProto missing = model, twice = model;
  missing.mutable_graph()->mutable_node(1)->set_input(0, "nowhere");
  twice.mutable_graph()->mutable_node(1)->set_output(0, "a");
  EXPECT_THAT(error_of(read_bytes(missing.SerializeAsString(), "")), HasSubstr("reads 'nowhere', which nothing"));
  EXPECT_THAT(error_of(read_bytes(twice.SerializeAsString(), "")), HasSubstr("'a' is defined twice"));
}

TEST(Reader, SaysWhatAFileIsThatIsNoModel) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string relu = graph_bytes(kRelu);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "the file is empty"},
      {"hello, this is text\n", "not an ONNX model; it looks like text"},
      {std::string("\xff\xfe\x01\x80 garbage", 12), "not an ONNX model"},
      {std::string("PK\x03\x04rest of the archive\x01\xff", 25), "PyTorch"},
      {relu.substr(0, relu.size() - 10), "the file is cut off"},
      {relu.substr(0, relu.size() / 2), "the file is cut off"},
  };
  for (const auto& [bytes, expected] : cases) {
    ASSERT_TRUE(write_file_atomically(folder.path() + "/m.onnx", bytes).ok());
    EXPECT_THAT(error_of(read(folder.path() + "/m.onnx")), HasSubstr(expected));
    EXPECT_THAT(error_of(read_bytes(bytes, "")), HasSubstr(expected));
  }
  EXPECT_THAT(error_of(read(folder.path() + "/absent.onnx")), HasSubstr("No such file"));
  EXPECT_THAT(error_of(read(folder.path())), HasSubstr("it is a folder"));
}

TEST(Reader, RefusesProtobufOverTwoGigabytesAtOnce) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  std::ofstream(folder.path() + "/m.onnx") << "x";
  std::filesystem::resize_file(folder.path() + "/m.onnx", int64_t{3} << 30);  // sparse
  EXPECT_THAT(error_of(read(folder.path() + "/m.onnx")), HasSubstr("external data"));
}

// A model whose one weight, 4096 floats, is in a file beside it.
std::string external_bytes(const std::string& location, const std::string& offset = "0",
                           const std::string& length = "16384") {
  onnx::ModelProto model;
  model.ParseFromString(graph_bytes("(float[4096] x) => (float[4096] y) <float[2] w = {1, 2}> { y = Add (x, w) }"));
  onnx::TensorProto& weight = *model.mutable_graph()->mutable_initializer(0);
  weight.clear_float_data();
  weight.clear_raw_data();
  weight.set_dims(0, 4096);
  weight.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] :
       std::map<std::string, std::string>{{"location", location}, {"offset", offset}, {"length", length}}) {
    auto& entry = *weight.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  return model.SerializeAsString();
}

TEST(Reader, ChecksExternalDataWithoutReadingIt) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  std::ofstream(folder.path() + "/w.data") << "";
  std::filesystem::resize_file(folder.path() + "/w.data", 20000);
  Result<Graph> graph = read_bytes(external_bytes("w.data", "3000"), folder.path());
  ASSERT_TRUE(graph.ok()) << error_of(graph);
  EXPECT_EQ(graph->parameters, 4096);
  EXPECT_EQ(graph->weight_bytes, 16384);
  EXPECT_EQ(tensor_named(*graph, "w").shape, (Shape{4096}));
}

TEST(Reader, RefusesExternalDataThatIsMissingShortOrElsewhere) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  std::ofstream(folder.path() + "/w.data") << "";
  std::filesystem::resize_file(folder.path() + "/w.data", 20000);
  auto error = [&](const std::string& bytes) { return error_of(read_bytes(bytes, folder.path())); };
  EXPECT_THAT(error(external_bytes("absent.data")), HasSubstr("absent.data, which is missing"));
  EXPECT_THAT(error(external_bytes("w.data", "4000")), HasSubstr("it is cut off"));
  EXPECT_THAT(error(external_bytes("w.data", "9223372036854775807")), HasSubstr("it is cut off"));
  EXPECT_THAT(error(external_bytes("w.data", "-1")), HasSubstr("not a number"));
  EXPECT_THAT(error(external_bytes("w.data", "0", "100")), HasSubstr("needs 16384 bytes"));
  for (const char* outside : {"../w.data", "/etc/passwd", "a/../../w.data", ""})
    EXPECT_THAT(error(external_bytes(outside)),
                testing::AnyOf(HasSubstr("outside the model's folder"), HasSubstr("without a file name")));
}

}  // namespace
}  // namespace ridge::model
