#include "cost/buffer_plan.h"

#include <gtest/gtest.h>

#include "cost/test_graph.h"
#include "model/domains.h"

namespace ridge::cost {
namespace {

using testing::GraphBuilder;

// A MatMul writes a buffer of its own; sizes are of float.
constexpr double kBytes = 4 * 100;
const Shape kShape = {100};

TEST(BufferPlan, AnActivationOverwritesAnInputThatNoOtherNodeNeeds) {
  GraphBuilder g;
  const int x = g.input("x", kShape);
  const int a = g.node("MatMul", {x}, kShape);
  const int b = g.node("Relu", {a}, kShape);
  EXPECT_EQ(plan_buffers(g.finish({g.node("MatMul", {b}, {1})}), {}).block, kBytes);
}

TEST(BufferPlan, NothingOverwritesAShapeThatTheEngineDoesNotKnow) {
  GraphBuilder g;
  const int a = g.node("MatMul", {g.input("x", kShape)}, kShape);
  const int b = g.node("Relu", {a}, kShape);
  const model::Graph graph = g.finish({g.node("MatMul", {b}, {1})});
  EXPECT_EQ(plan_buffers(graph, {graph.tensors[static_cast<size_t>(a)].name}).block, 2 * kBytes);
}

TEST(BufferPlan, NothingOverwritesWhatIsReadLater) {
  GraphBuilder g;
  const int x = g.input("x", kShape);
  const int a = g.node("MatMul", {x}, kShape);
  const int b = g.node("Relu", {a}, kShape);
  EXPECT_EQ(plan_buffers(g.finish({g.node("MatMul", {a, b}, {1})}), {}).block, 2 * kBytes);
}

TEST(BufferPlan, NothingOverwritesInputsAndWeightsOfTheModel) {
  GraphBuilder g;
  const int x = g.input("x", kShape), w = g.weight("w", kShape);
  const int a = g.node("Relu", {x}, kShape), b = g.node("Clip", {g.node("Identity", {w, x}, kShape)}, kShape);
  EXPECT_EQ(plan_buffers(g.finish({g.node("MatMul", {a, b}, {1})}), {}).block, 2 * kBytes);
}

TEST(BufferPlan, NothingOverwritesAnotherShape) {
  GraphBuilder g;
  const int x = g.input("x", kShape);
  const int a = g.node("MatMul", {x}, kShape);
  const int b = g.node("Relu", {a}, {10, 10});
  EXPECT_EQ(plan_buffers(g.finish({g.node("MatMul", {b}, {1})}), {}).block, 2 * kBytes);
}

TEST(BufferPlan, AReshapeSharesItsInputUntilBothAreRead) {
  GraphBuilder g;
  const int x = g.input("x", kShape);
  const int a = g.node("MatMul", {x}, kShape);
  const int b = g.node("Reshape", {a}, {10, 10});
  const int c = g.node("MatMul", {b}, kShape);
  EXPECT_EQ(plan_buffers(g.finish({g.node("MatMul", {b, c}, {1})}), {}).block, 2 * kBytes);
}

TEST(BufferPlan, AFusedConvolutionOverwritesWhatItAdds) {
  GraphBuilder g;
  const int x = g.input("x", {1, 16, 10, 10}), w = g.weight("w", {16, 16, 1, 1});
  const int sum = g.node("MaxPool", {x}, {1, 16, 10, 10});
  const int y = g.node("Conv", {x, w, -1, sum}, {1, 16, 10, 10});
  model::Graph graph = g.finish({g.node("MatMul", {y}, {1})});
  EXPECT_EQ(plan_buffers(graph, {}).block, 2 * 4.0 * 1600);
  graph.nodes[1].domain = model::kBlocked;
  EXPECT_EQ(plan_buffers(graph, {}).block, 4.0 * 1600);
}

// x → large → small → large → 1: the second large one fits into the first's place, unless that is reserved meanwhile.
TEST(BufferPlan, ATakenBufferLivesOnBetweenItsTwoResults) {
  GraphBuilder g;
  const int x = g.input("x", kShape);
  const int large = g.node("MatMul", {x}, kShape);
  const int small = g.node("MatMul", {large}, {50});
  const int other = g.node("MatMul", {small}, {49});
  const int again = g.node("MatMul", {other}, kShape);
  const model::Graph graph = g.finish({g.node("MatMul", {again}, {1})});
  EXPECT_EQ(plan_buffers(graph, {}).block, kBytes + 4 * (50 + 49));
  EXPECT_EQ(plan_buffers(graph, {}).largest, kBytes);
  // Not known to be of one shape: beside `other`, at the offset of `large`.
  EXPECT_EQ(plan_buffers(graph, {graph.tensors[static_cast<size_t>(again)].name}).block, 4 * (100 + 50));
}

TEST(BufferPlan, ABufferTakesTheGapThatFitsBest) {
  GraphBuilder g;
  const int x = g.input("x", kShape);
  const int wide = g.node("MatMul", {x}, {60}), first = g.node("MatMul", {x}, {10});
  const int narrow = g.node("MatMul", {x}, {30}), second = g.node("MatMul", {x}, {10});
  const int read = g.node("MatMul", {wide, narrow}, {1});  // leaves gaps of 60 and of 30
  const int fits = g.node("MatMul", {read}, {25}), other = g.node("MatMul", {read}, {55});
  const model::Graph graph = g.finish({g.node("MatMul", {first, second, fits, other}, {1})});
  EXPECT_EQ(plan_buffers(graph, {}).block, 4 * (60 + 10 + 30 + 10 + 1));
}

TEST(BufferPlan, OutputsOfTheModelLieBesideTheBlock) {
  GraphBuilder g;
  const int x = g.input("x", kShape);
  const int a = g.node("MatMul", {x}, kShape);
  const BufferPlan plan = plan_buffers(g.finish({g.node("Relu", {a}, kShape)}), {});
  EXPECT_EQ(plan.block, kBytes);
  EXPECT_EQ(plan.outputs, kBytes);
}

}  // namespace
}  // namespace ridge::cost
