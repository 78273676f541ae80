#include "model/inputs.h"

#include <gtest/gtest.h>

namespace ridge::model {
namespace {

Graph with_input(Shape shape, std::vector<std::string> unbound = {}) {
  Graph graph;
  graph.input_specs.push_back({{"x", DataType::kFp32, std::move(shape)}, {}});
  graph.unbound = std::move(unbound);
  return graph;
}

std::string question_of(const Graph& graph) {
  const Status known = check_open_dimensions("a.onnx", graph);
  return known ? "" : known.error().message;
}

TEST(Inputs, AskForWhatTheFileLeavesOpen) {
  EXPECT_EQ(question_of(with_input({1, 3, 224, 224})), "");
  EXPECT_EQ(question_of(with_input({1, -1}, {"length", "width"})),
            "a.onnx has dynamic dimensions without a value: length, width; give each one, e.g. --shape length=128");
}

TEST(Inputs, AskForTheShapeWhereNothingHasAName) {
  EXPECT_EQ(question_of(with_input({1, -1})),
            "a.onnx has unnamed dynamic dimensions in input x: [1,-1]; give the whole shape, e.g. --shape x=1x128");
  EXPECT_TRUE(question_of(with_input({1, 3, -1, -1})).ends_with("--shape x=1x3x224x224"));
}

TEST(Inputs, RowsAreTheFirstDimensionButNotTheElementsOfAVector) {
  EXPECT_EQ(rows_of(with_input({8, 3, 224, 224})), 8);
  EXPECT_EQ(rows_of(with_input({256})), 1);
  Graph ids = with_input({256});
  ids.input_specs.front().symbols = {"batch"};
  EXPECT_TRUE(has_open_batch(ids));
  EXPECT_EQ(rows_of(ids), 256);
  EXPECT_EQ(rows_of(Graph()), 1);
  Graph picture = with_input({3, 320, 320});  // its channels are no rows of the boxes
  picture.output_specs = {{"boxes", DataType::kFp32, {-1, 4}}};
  EXPECT_EQ(rows_of(picture), 1);
  Graph fixed = with_input({8, 3, 224, 224});
  fixed.output_specs = {{"scores", DataType::kFp32, {8, 1000}}};
  EXPECT_EQ(rows_of(fixed), 8);
}

}  // namespace
}  // namespace ridge::model
