#include "model/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/file.h"
#include "model/test_models.h"

namespace ridge::model {
namespace {

using testing::HasSubstr;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "ridge-reader-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Of the onnx package in .deps; empty if it is not there.
std::string light_folder() {
  const std::filesystem::path libraries = std::filesystem::path(RIDGE_SOURCE_DIR) / ".deps/python/lib";
  std::error_code failure;
  for (const auto& python : std::filesystem::directory_iterator(libraries, failure)) {
    const auto folder = python.path() / "site-packages/onnx/backend/test/data/light";
    if (std::filesystem::is_directory(folder)) return folder;
  }
  return {};
}

std::string error_of(const Result<Graph>& graph) { return graph.ok() ? "no error" : graph.error().message; }

const char* const kRelu = "(float[batch, 3] x) => (float[batch, 3] y) { y = Relu (x) }";

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

TEST(Reader, LeavesSymbolsOpenAndNamesThem) {
  Result<Graph> graph = read_graph(kRelu);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->input_specs[0].spec.shape, (Shape{-1, 3}));
  EXPECT_EQ(graph->input_specs[0].symbols, (std::vector<std::string>{"batch", ""}));
  EXPECT_EQ(graph->unbound, (std::vector<std::string>{"batch"}));
  EXPECT_EQ(graph->output_specs[0].shape, (Shape{-1, 3}));
}

TEST(Reader, BindsBatchInEveryInputAndOutput) {
  Binding binding;
  binding.batch = 5;
  Result<Graph> graph =
      read_graph("(float[batch, 3] a, float[batch, 3] b) => (float[batch, 3] y) { y = Add (a, b) }", binding);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(tensor_named(*graph, "b").shape, (Shape{5, 3}));
  EXPECT_EQ(tensor_named(*graph, "y").shape, (Shape{5, 3}));
  EXPECT_TRUE(graph->unbound.empty());
}

TEST(Reader, RefusesBatchThatTheFileFixes) {
  Binding binding;
  binding.batch = 5;
  EXPECT_THAT(error_of(read_graph("(float[1, 3] x) => (float[1, 3] y) { y = Relu (x) }", binding)),
              HasSubstr("the batch cannot be 5: input 'x' has 1"));
}

TEST(Reader, BindsWholeShapesAndTheirSymbols) {
  Binding binding;
  ASSERT_TRUE(parse_shape_option("a=7x3", binding).ok());
  Result<Graph> graph = read_graph("(float[n, 3] a, float[n, 3] b) => (float[n, 3] y) { y = Add (a, b) }", binding);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(tensor_named(*graph, "b").shape, (Shape{7, 3}));
}

TEST(Reader, RefusesBindingsThatContradict) {
  Binding rank, size, name, symbol;
  ASSERT_TRUE(parse_shape_option("x=1x2x3", rank).ok());
  ASSERT_TRUE(parse_shape_option("x=2x4", size).ok());
  ASSERT_TRUE(parse_shape_option("z=2x3", name).ok());
  ASSERT_TRUE(parse_shape_option("sequence=4", symbol).ok());
  EXPECT_THAT(error_of(read_graph(kRelu, rank)), HasSubstr("has 2 dimensions in the file"));
  EXPECT_THAT(error_of(read_graph(kRelu, size)), HasSubstr("dimension 1 is 3 in the file, it cannot be 4"));
  EXPECT_THAT(error_of(read_graph(kRelu, name)), HasSubstr("no input 'z'; it has x"));
  EXPECT_THAT(error_of(read_graph(kRelu, symbol)), HasSubstr("no symbol or input 'sequence'; its symbols are: batch"));
}

TEST(Reader, ShapeOptionsThatAreNotShapesAreRefused) {
  for (const char* text : {"", "x", "=1x2", "x=", "x=1x", "x=1xa", "x=-1x2", "x=1,2", "x=99999999999999999999"}) {
    Binding binding;
    EXPECT_FALSE(parse_shape_option(text, binding).ok()) << text;
    EXPECT_TRUE(binding.empty()) << text;
  }
}

TEST(Reader, ResolvesReshapeThroughShapeArithmetic) {
  Binding binding;
  binding.batch = 2;
  binding.symbols["sequence"] = 9;
  Result<Graph> graph = read_graph(R"((float[batch, sequence, 12] x) => (float[a, b, c, d] y) {
      s = Shape (x)
      zero = Constant <value_int = 0> ()
      one = Constant <value_int = 1> ()
      n = Gather (s, zero)
      m = Gather (s, one)
      axes = Constant <value_ints = [0]> ()
      n1 = Unsqueeze (n, axes)
      m1 = Unsqueeze (m, axes)
      heads = Constant <value_ints = [3, -1]> ()
      t = Concat <axis = 0> (n1, m1, heads)
      y = Reshape (x, t) })",
                                   binding);
  ASSERT_TRUE(graph.ok()) << error_of(graph);
  EXPECT_EQ(tensor_named(*graph, "y").shape, (Shape{2, 9, 3, 4}));
  EXPECT_EQ(tensor_named(*graph, "t").constant, (std::vector<int64_t>{2, 9, 3, -1}));
}

// torch's x.expand(n, -1, 8): sizes of -1 are replaced by those of x.
TEST(Reader, ResolvesExpandAsExportersWriteIt) {
  Result<Graph> graph = read_graph(R"((float[4, 3, 1] x) => (float[a, b, c] y) {
      wanted = Constant <value_ints = [4, -1, 8]> ()
      s = Shape (wanted)
      ones = ConstantOfShape <value = int64[1] {1}> (s)
      minus = Constant <value_int = -1> ()
      negative = Mul (ones, minus)
      open = Equal (wanted, negative)
      sizes = Where (open, ones, wanted)
      y = Expand (x, sizes) })");
  ASSERT_TRUE(graph.ok()) << error_of(graph);
  EXPECT_EQ(tensor_named(*graph, "y").shape, (Shape{4, 3, 8}));
}

// torch's interpolate with a scale: sizes go through real numbers.
TEST(Reader, ResolvesResizeThroughRealArithmetic) {
  Result<Graph> graph = read_graph(R"((float[1, 2, 7, 7] x) => (float[a, b, c, d] y) {
      s = Shape (x)
      zero = Constant <value_ints = [0]> ()
      two = Constant <value_ints = [2]> ()
      four = Constant <value_ints = [4]> ()
      channels = Slice (s, zero, two)
      image = Slice (s, two, four)
      real = Cast <to = 1> (image)
      factor = Constant <value_float = 1.5> ()
      scaled = Mul (real, factor)
      floored = Floor (scaled)
      whole = Cast <to = 7> (floored)
      sizes = Concat <axis = 0> (channels, whole)
      y = Resize <mode = "nearest"> (x, , , sizes) })");
  ASSERT_TRUE(graph.ok()) << error_of(graph);
  EXPECT_EQ(tensor_named(*graph, "y").shape, (Shape{1, 2, 10, 10}));
}

TEST(Reader, KeepsWhatIsKnownWhenTheBatchIsOpen) {
  Result<Graph> graph = read_graph(R"((float[batch, 6, 12] x) => (float[a, b, c] y) {
      s = Shape (x)
      zero = Constant <value_ints = [0]> ()
      n = Gather (s, zero)
      rest = Constant <value_ints = [8, 9]> ()
      t = Concat <axis = 0> (n, rest)
      y = Reshape (x, t) })");
  ASSERT_TRUE(graph.ok()) << error_of(graph);
  EXPECT_EQ(tensor_named(*graph, "y").shape, (Shape{-1, 8, 9}));
}

TEST(Reader, OrdersNodesThatTheFileHasOutOfOrder) {
  onnx::ModelProto model;
  model.ParseFromString(graph_bytes("(float[2] x) => (float[2] y) { a = Relu (x) \n y = Neg (a) }"));
  model.mutable_graph()->mutable_node()->SwapElements(0, 1);
  Result<Graph> graph = read_bytes(model.SerializeAsString(), "");
  ASSERT_TRUE(graph.ok()) << error_of(graph);
  EXPECT_EQ(graph->nodes[0].op, "Relu");
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
  const TemporaryFolder folder;
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
    ASSERT_TRUE(write_file_atomically(folder / "m.onnx", bytes).ok());
    EXPECT_THAT(error_of(read(folder / "m.onnx")), HasSubstr(expected));
    EXPECT_THAT(error_of(read_bytes(bytes, "")), HasSubstr(expected));
  }
  EXPECT_THAT(error_of(read(folder / "absent.onnx")), HasSubstr("No such file"));
  EXPECT_THAT(error_of(read(folder.path())), HasSubstr("it is a folder"));
}

TEST(Reader, RefusesProtobufOverTwoGigabytesAtOnce) {
  const TemporaryFolder folder;
  std::ofstream(folder / "m.onnx") << "x";
  std::filesystem::resize_file(folder / "m.onnx", int64_t{3} << 30);  // sparse
  EXPECT_THAT(error_of(read(folder / "m.onnx")), HasSubstr("external data"));
}

TEST(Reader, RefusesOpsetsItDoesNotKnow) {
  EXPECT_THAT(error_of(read_graph(kRelu, {}, 6)), HasSubstr("opset 6 is older than 7"));
  EXPECT_THAT(error_of(read_graph(kRelu, {}, 999)), HasSubstr("opset 999 is newer than"));
  EXPECT_TRUE(read_graph(kRelu, {}, 7).ok());
}

TEST(Reader, LetsVendorOperatorsPassWithUnknownShapes) {
  const char* text = R"(<ir_version: 8, opset_import: ["" : 17, "vendor" : 1]>
      g (float[2] x) => (float[k] y) { a = vendor.Magic (x) y = Relu (a) })";
  Result<Graph> graph = read_bytes(model_bytes(text), "");
  ASSERT_TRUE(graph.ok()) << error_of(graph);
  EXPECT_EQ(graph->nodes[0].domain, "vendor");
  EXPECT_FALSE(tensor_named(*graph, "a").shape.has_value());
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

TEST(Reader, RefusesDomainsThatTheFileDoesNotImport) {
  onnx::ModelProto model;
  model.ParseFromString(graph_bytes(kRelu));
  model.mutable_graph()->mutable_node(0)->set_domain("vendor");
  EXPECT_THAT(error_of(read_bytes(model.SerializeAsString(), "")),
              HasSubstr("'vendor', which the model does not import"));
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
  const TemporaryFolder folder;
  std::ofstream(folder / "w.data") << "";
  std::filesystem::resize_file(folder / "w.data", 20000);
  Result<Graph> graph = read_bytes(external_bytes("w.data", "3000"), folder.path());
  ASSERT_TRUE(graph.ok()) << error_of(graph);
  EXPECT_EQ(graph->parameters, 4096);
  EXPECT_EQ(graph->weight_bytes, 16384);
  EXPECT_EQ(tensor_named(*graph, "w").shape, (Shape{4096}));
}

TEST(Reader, RefusesExternalDataThatIsMissingShortOrElsewhere) {
  const TemporaryFolder folder;
  std::ofstream(folder / "w.data") << "";
  std::filesystem::resize_file(folder / "w.data", 20000);
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

Binding at_batch(int64_t batch) {
  Binding binding;
  binding.batch = batch;
  return binding;
}

// The size of what a loop hands on is kept as long as the body returns the same; values are worked out inside too.
TEST(Reader, FindsTheShapesInsideALoop) {
  Result<Graph> graph = read_graph(R"((float[5, 1, 4] x, float[1, 4] start) => (float[a, b] y, float[c, d, e] rows)
      <int64 trips = {5}, bool yes = {1}> {
      y, rows = Loop (trips, yes, start) < body = turn (int64 i, bool go, float[m, n] state)
          => (bool go_on, float[o, p] next, float[q, r] row) <int64[2] flat = {-1, 4}> {
        go_on = Identity (go)
        taken = Gather <axis = 0> (x, i)
        next = Add (taken, state)
        row = Reshape (next, flat) } > })");
  ASSERT_TRUE(graph.ok()) << error_of(graph);
  auto body = attribute_or<std::shared_ptr<const Graph>>(graph->nodes[0], "body", nullptr);
  ASSERT_NE(body, nullptr);
  EXPECT_EQ(tensor_named(*body, "next").shape, (Shape{1, 4}));
  EXPECT_EQ(tensor_named(*body, "row").shape, (Shape{1, 4}));
  EXPECT_EQ(tensor_named(*graph, "y").shape, (Shape{1, 4}));
  EXPECT_EQ(tensor_named(*graph, "trips").constant, (std::vector<int64_t>{5}));
}

TEST(Reader, WhatGrowsInALoopIsOpen) {
  Result<Graph> graph = read_graph(R"((float[1, 4] start) => (float[a, b] y) <int64 trips = {5}, bool yes = {1}> {
      y = Loop (trips, yes, start) < body = turn (int64 i, bool go, float[m, n] state) => (bool go_on, float[o, p] next) {
        go_on = Identity (go)
        next = Concat <axis = 0> (state, start) } > })");
  ASSERT_TRUE(graph.ok()) << error_of(graph);
  auto body = attribute_or<std::shared_ptr<const Graph>>(graph->nodes[0], "body", nullptr);
  EXPECT_EQ(tensor_named(*body, "next").shape, (Shape{-1, 4}));
  EXPECT_EQ(tensor_named(*graph, "y").shape, (Shape{-1, 4}));
}

TEST(Reader, TakesTheBranchOfAConditionThatFollowsFromShapes) {
  Result<Graph> graph =
      read_graph(R"((float[N, 4] x) => (float[a, b] y) <int64[1] many = {2}, int64[2] flat = {1, -1}> {
      all = Shape (x)
      zero = Constant <value = int64[1] {0}> ()
      rows = Gather (all, zero)
      more = Greater (rows, many)
      y = If (more) < then_branch = yes () => (float[c, d] p) { p = Reshape (x, flat) },
                      else_branch = no () => (float[e, f] q) { q = Identity (x) } > })",
                 at_batch(3));
  ASSERT_TRUE(graph.ok()) << error_of(graph);
  EXPECT_EQ(tensor_named(*graph, "y").shape, (Shape{1, 12}));
}

TEST(Reader, SizesThatTheDataDecideAreUnknownOrAtMost) {
  const char* text = R"((float[1, 50, 4] boxes, float[1, 2, 50] scores) => (int64[n, 3] kept, int64[2, m] found)
      <int64 most = {10}> {
      kept = NonMaxSuppression (boxes, scores, most)
      found = NonZero (kept) })";
  Binding most;
  most.data_sizes_at_most = true;
  Result<Graph> unknown = read_graph(text), at_most = read_graph(text, most);
  ASSERT_TRUE(unknown.ok() && at_most.ok()) << error_of(at_most);
  EXPECT_EQ(tensor_named(*unknown, "kept").shape, (Shape{-1, 3}));
  EXPECT_EQ(tensor_named(*at_most, "kept").shape, (Shape{20, 3}));
  EXPECT_EQ(tensor_named(*at_most, "found").shape, (Shape{2, 60}));
}

TEST(Reader, ABatchThatIsNotInsistedOnLeavesFixedSizesAlone) {
  const char* text = "(float[3, 8] x) => (float[3, 8] y) { y = Relu (x) }";
  Binding binding = at_batch(1);
  EXPECT_FALSE(read_graph(text, binding).ok());
  binding.insist_on_batch = false;
  EXPECT_TRUE(read_graph(text, binding).ok());
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

// The nine graphs that come with the onnx package; their weights are made by ConstantOfShape.
TEST(Reader, FindsEveryShapeOfTheLightGraphs) {
  const std::map<std::string, int64_t> parameters = {
      {"bvlc_alexnet", 60'965'224}, {"densenet121", 8'062'504}, {"inception_v1", 6'998'552},
      {"inception_v2", 11'214'888}, {"resnet50", 25'557'032},   {"shufflenet", 1'393'320},
      {"squeezenet", 1'235'496},    {"vgg19", 143'667'240},     {"zfnet512", 87'250'536}};
  const std::string folder = light_folder();
  if (folder.empty()) GTEST_SKIP() << "the onnx package is not in .deps/python; ./dev setup installs it";
  for (const auto& [name, count] : parameters) {
    Result<Graph> graph = read(folder + "/light_" + name + ".onnx");
    ASSERT_TRUE(graph.ok()) << error_of(graph);
    EXPECT_EQ(graph->parameters, count) << name;
    for (const TensorInfo& tensor : graph->tensors)
      EXPECT_TRUE(tensor.shape && element_count(*tensor.shape)) << name << ": " << tensor.name;
  }
}

TEST(Reader, ReadsOptimisedGraphsWithVendorOperators) {
  const TemporaryFolder folder;
  const char* text = R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x) => (float[2] y) <int64[1] s = {2}> {
        a = com.microsoft.nchwc.ReorderInput (x) y = com.microsoft.FusedConv (a, s) })";
  ASSERT_TRUE(write_file_atomically(folder / "o.onnx", model_bytes(text)).ok());
  Result<Graph> graph = read_optimised(folder / "o.onnx");
  ASSERT_TRUE(graph.ok()) << error_of(graph);
  EXPECT_EQ(graph->nodes[0].domain, "com.microsoft.nchwc");
  EXPECT_EQ(tensor_named(*graph, "y").shape, (Shape{2}));
  EXPECT_EQ(tensor_named(*graph, "s").constant, (std::vector<int64_t>{2}));
}

}  // namespace
}  // namespace ridge::model
