#include "predict/executed_kernels.h"

#include <gtest/gtest.h>

#include "cost/test_graph.h"

namespace ridge::predict {
namespace {

using cost::testing::GraphBuilder;

std::shared_ptr<const model::Graph> body(int64_t width) {
  GraphBuilder b;
  const int x = b.input("inside", {1, width});
  b.weight("other", {1});  // so that no inner name equals an outer one
  return std::make_shared<model::Graph>(
      b.finish({b.node("MatMul", {x, b.weight("inner", {width, width})}, {1, width})}));
}

model::Graph loop(std::optional<std::vector<int64_t>> trips) {
  GraphBuilder b;
  const int limit = b.weight("trips", {}, DataType::kInt64), x = b.input("x", {1, 4});
  model::Graph graph = b.finish({b.node("Loop", {limit, -1, x}, {1, 4}, {{"body", body(4)}})});
  graph.tensors[static_cast<size_t>(limit)].constant = std::move(trips);
  return graph;
}

TEST(ExecutedKernels, ABodyRunsAsOftenAsItsLoopTurns) {
  const ExecutedModel known = executed_model(loop(std::vector<int64_t>{7}), {});
  ASSERT_EQ(known.kernels.size(), 1U);
  ASSERT_EQ(known.kernels[0].inside.size(), 1U);
  EXPECT_EQ(known.kernels[0].inside[0].at(0).kernel.op, "MatMul");
  EXPECT_DOUBLE_EQ(known.kernels[0].inside[0][0].times, 7);
  EXPECT_TRUE(known.notes.empty());
  EXPECT_EQ(flattened(known.kernels).size(), 1U);
}

TEST(ExecutedKernels, AnUnknownNumberOfTurnsIsOneAndIsSaid) {
  using LoopTripCount = std::optional<std::vector<int64_t>>;
  for (const LoopTripCount& trips : {LoopTripCount(), LoopTripCount(std::vector<int64_t>{int64_t{1} << 62})}) {
    const ExecutedModel unknown = executed_model(loop(trips));
    EXPECT_DOUBLE_EQ(unknown.kernels[0].inside[0].at(0).times, 1);
    ASSERT_EQ(unknown.notes.size(), 1U);
    EXPECT_NE(unknown.notes[0].find("one trip"), std::string::npos) << unknown.notes[0];
  }
}

TEST(ExecutedKernels, BothSidesOfABranchAreThereUnlessTheConditionIsKnown) {
  GraphBuilder b;
  const int condition = b.weight("condition", {}, DataType::kBool);
  model::Graph graph =
      b.finish({b.node("If", {condition}, {1, 4}, {{"then_branch", body(4)}, {"else_branch", body(8)}})});
  const ExecutedModel open = executed_model(graph);
  EXPECT_EQ(open.kernels[0].inside.size(), 2U);
  EXPECT_EQ(open.notes.size(), 1U);
  graph.tensors[static_cast<size_t>(condition)].constant = {1};
  const ExecutedModel known = executed_model(graph);
  ASSERT_EQ(known.kernels[0].inside.size(), 1U);
  EXPECT_EQ(known.kernels[0].inside[0].at(0).kernel.outputs[0].shape, (Shape{1, 4}));
}

TEST(ExecutedKernels, SizesThatAreNotKnownAreSaid) {
  GraphBuilder b;
  const int found = b.node("NonZero", {b.input("x", {4})}, {1, -1}, {}, DataType::kInt64);
  const ExecutedModel executed = executed_model(b.finish({b.node("Cast", {found}, {1, -1})}));
  ASSERT_EQ(executed.notes.size(), 1U);
  EXPECT_NE(executed.notes[0].find("2 of 2 kernels"), std::string::npos) << executed.notes[0];
}

}  // namespace
}  // namespace ridge::predict
