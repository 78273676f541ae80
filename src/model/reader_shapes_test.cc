// Shapes derived from a model's own arithmetic.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "model/test_models.h"

namespace ridge::model {
namespace {

// A folder of the onnx package in .deps; empty if missing.
std::string light_folder() {
  const std::filesystem::path libraries = std::filesystem::path(RIDGE_SOURCE_DIR) / ".deps/python/lib";
  std::error_code failure;
  for (const auto& python : std::filesystem::directory_iterator(libraries, failure)) {
    const auto folder = python.path() / "site-packages/onnx/backend/test/data/light";
    if (std::filesystem::is_directory(folder)) return folder;
  }
  return {};
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

// The size of a carried value is kept as long as the body returns the same; values are computed inside too.
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
      y = Loop (trips, yes, start) < body = turn (int64 i, bool go, float[m, n] state)
          => (bool go_on, float[o, p] next) {
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

// The onnx package's nine graphs; ConstantOfShape makes their weights.
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

}  // namespace
}  // namespace ridge::model
