// A model's input sizes: symbols, the batch, whole shapes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/digest.h"
#include "base/file.h"
#include "base/temporary_folder.h"
#include "model/test_models.h"

namespace ridge::model {
namespace {

using testing::HasSubstr;

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

TEST(Reader, ABatchThatIsNotInsistedOnLeavesFixedSizesAlone) {
  const char* text = "(float[3, 8] x) => (float[3, 8] y) { y = Relu (x) }";
  Binding binding = at_batch(1);
  EXPECT_FALSE(read_graph(text, binding).ok());
  binding.insist_on_batch = false;
  EXPECT_TRUE(read_graph(text, binding).ok());
}

// The file is removed after the first read, so that a second read would fail.
TEST(UnboundModel, IsBoundAgainWithoutAnotherLookAtTheFile) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.path() + "/m.onnx";
  ASSERT_TRUE(write_file_atomically(path, graph_bytes(kRelu)));
  Result<UnboundModel> unbound = UnboundModel::read(path);
  ASSERT_TRUE(unbound) << unbound.error().message;
  EXPECT_EQ(unbound->digest().value(), digest_files({path}).value());
  std::filesystem::remove(path);
  for (int64_t batch : {1, 4, 2}) {
    Result<Graph> graph = unbound->bind(at_batch(batch));
    ASSERT_TRUE(graph) << graph.error().message;
    EXPECT_EQ(tensor_named(*graph, "y").shape, (Shape{batch, 3}));
    EXPECT_EQ(graph->input_specs[0].symbols[0], "batch");
  }
  EXPECT_EQ(tensor_named(*unbound->bind(), "y").shape, (Shape{-1, 3}));
}

TEST(UnboundModel, RefusesABindingAndTakesTheNext) {
  Result<UnboundModel> unbound = UnboundModel::read_bytes(graph_bytes(kRelu), "");
  ASSERT_TRUE(unbound);
  Binding wrong;
  wrong.shapes["x"] = {2, 4};
  EXPECT_FALSE(unbound->bind(wrong));
  EXPECT_TRUE(unbound->bind(at_batch(3)));
}

}  // namespace
}  // namespace ridge::model
