#include "predict/engine_graph.h"

#include <gtest/gtest.h>

#include "cost/test_graph.h"

namespace ridge::predict {
namespace {

using cost::testing::GraphBuilder;
const EngineTraits kAvx512{.block = 16}, kPlain{.block = 0};

std::vector<std::string> ops(const EngineGraph& graph) {
  std::vector<std::string> names;
  for (const EngineStep& step : graph.steps) names.push_back(step.op);
  return names;
}
using Ops = std::vector<std::string>;

TEST(EngineGraph, NormalisationAndActivationMeltIntoTheConvolution) {
  GraphBuilder g;
  int y = g.node("Conv", {g.input("x", {1, 3, 8, 8}), g.weight("w", {32, 3, 3, 3})}, {1, 32, 8, 8});
  int z =
      g.node("BatchNormalization",
             {y, g.weight("s", {32}), g.weight("b", {32}), g.weight("m", {32}), g.weight("v", {32})}, {1, 32, 8, 8});
  EngineGraph engine = engine_graph(g.finish({g.node("Relu", {z}, {1, 32, 8, 8})}), kAvx512);
  EXPECT_EQ(ops(engine), Ops({"Conv", "ReorderOutput"}));
  ASSERT_EQ(engine.weights.folded.size(), 1U);
  EXPECT_EQ(engine.weights.folded[0].bytes, 32 * 3 * 9 * 4);
}

TEST(EngineGraph, BlockedWeightsArePaddedToWholeBlocks) {
  GraphBuilder g;
  int y = g.node("Conv", {g.input("x", {1, 20, 8, 8}), g.weight("w", {40, 20, 1, 1})}, {1, 40, 8, 8});
  EngineGraph engine = engine_graph(g.finish({y}), kAvx512);
  ASSERT_EQ(engine.weights.blocked.size(), 1U);
  EXPECT_EQ(engine.weights.blocked[0].bytes, 40 * 20 * 4);
  EXPECT_EQ(engine.weights.blocked[0].after_bytes, 48 * 32 * 4);
  EXPECT_EQ(ops(engine), Ops({"ReorderInput", "Conv", "ReorderOutput"}));
  EXPECT_EQ(ops(engine_graph(g.finish({y}), kPlain)), Ops({"Conv"}));
}

// Two convolutions and their sum: the second adds the first's result in its memory.
TEST(EngineGraph, TheLaterConvolutionAddsInPlace) {
  GraphBuilder g;
  int x = g.node("Conv", {g.input("x", {1, 3, 8, 8}), g.weight("w", {32, 3, 3, 3})}, {1, 32, 8, 8});
  int y = g.node("Conv", {x, g.weight("v", {32, 32, 3, 3})}, {1, 32, 8, 8});
  EngineGraph engine = engine_graph(g.finish({g.node("Add", {y, x}, {1, 32, 8, 8})}), kAvx512);
  ASSERT_EQ(ops(engine), Ops({"Conv", "Conv", "ReorderOutput"}));
  EXPECT_EQ(engine.steps[1].may_overwrite, engine.steps[0].writes);
}

TEST(EngineGraph, GeluWithItsBiasIsOneStep) {
  GraphBuilder g;
  int x = g.node("MatMul", {g.input("x", {1, 8, 64}), g.weight("w", {64, 64})}, {1, 8, 64});
  int biased = g.node("Add", {x, g.weight("b", {64})}, {1, 8, 64});
  int scaled = g.node("Div", {biased, g.weight("root", {})}, {1, 8, 64});
  int plus = g.node("Add", {g.node("Erf", {scaled}, {1, 8, 64}), g.weight("one", {})}, {1, 8, 64});
  int product = g.node("Mul", {biased, plus}, {1, 8, 64});
  model::Graph graph = g.finish({g.node("Mul", {product, g.weight("half", {})}, {1, 8, 64})});
  graph.input_specs = {{{"x", DataType::kFp32, {1, 8, 64}}, {"batch", "", ""}}};  // open: the product stays a MatMul
  EngineGraph engine = engine_graph(graph, kAvx512);
  EXPECT_EQ(ops(engine), Ops({"MatMul", "BiasGelu"}));
  EXPECT_EQ(engine.steps[1].reads, engine.steps[0].writes);
}

TEST(EngineGraph, SwishIsOneStep) {
  GraphBuilder g;
  int x = g.node("MatMul", {g.input("x", {1, 8, 64}), g.weight("w", {64, 64})}, {1, 8, 64});
  int y = g.node("Mul", {x, g.node("Sigmoid", {x}, {1, 8, 64})}, {1, 8, 64});
  EXPECT_EQ(ops(engine_graph(g.finish({y}), kAvx512)), Ops({"MatMul", "QuickGelu"}));
}

// 100 columns are packed as 112 (whole columns of 16).
TEST(EngineGraph, MatricesArePackedIntoWholeColumnsOfSixteen) {
  GraphBuilder g;
  int y = g.node("MatMul", {g.input("x", {4, 64}), g.weight("w", {64, 100})}, {4, 100});
  EngineGraph engine = engine_graph(g.finish({y}), kAvx512);
  ASSERT_EQ(engine.weights.packed.size(), 1U);
  EXPECT_EQ(engine.weights.packed[0].after_bytes, 64 * 112 * 4);
}

// x → DQ → Conv(DQ(w), 32 → 64 channels, 3 × 3) → Q → DQ → MatMul(DQ(v)) → Q, as quantisers write it: both weights are held in
// 8 bits. The convolution's are reordered and keep their size, 64 · 32 · 9; the product's [64, 100] become 112 columns of 64 and
// a sum of 4 bytes each: 112 · (64 + 4).
TEST(EngineGraph, WeightsOfKernelsOnIntegersStayInEightBits) {
  GraphBuilder g;
  const int scale = g.weight("scale", {});
  auto real = [&](int t, Shape shape) { return g.node("DequantizeLinear", {t, scale}, std::move(shape)); };
  auto integer = [&](int t, Shape shape) {
    return g.node("QuantizeLinear", {t, scale}, std::move(shape), {}, DataType::kUint8);
  };
  const int x = real(g.input("x", {1, 32, 8, 64}, DataType::kUint8), {1, 32, 8, 64});
  const int w = real(g.weight("w", {64, 32, 3, 3}, DataType::kInt8), {64, 32, 3, 3});
  const int y = integer(g.node("Conv", {x, w}, {1, 64, 8, 64}), {1, 64, 8, 64});
  const int v = real(g.weight("v", {64, 100}, DataType::kInt8), {64, 100});
  const int z = g.node("MatMul", {real(y, {1, 64, 8, 64}), v}, {1, 64, 8, 100});
  EngineGraph engine = engine_graph(g.finish({integer(z, {1, 64, 8, 100})}), kAvx512);
  EXPECT_EQ(ops(engine), Ops({"QLinearConv", "QLinearMatMul"}));
  EXPECT_TRUE(engine.weights.computed.empty());
  ASSERT_EQ(engine.weights.packed.size(), 2U);
  EXPECT_EQ(engine.weights.packed[0].after_bytes, 64 * 32 * 9);
  EXPECT_EQ(engine.weights.packed[1].after_bytes, 112 * (64 + 4));
  EXPECT_EQ(engine.steps[0].workspace_bytes, 8 * 9 * 8 * 64);  // a pointer per window and position
}

// DQ(x) · DQ(w) with w given transposed, [100, 64], and no quantisation behind it: the product of integers makes real numbers, and
// packing turns a copy of 6400 bytes round.
TEST(EngineGraph, ATransposedMatrixIsTurnedRoundWhileItIsPacked) {
  GraphBuilder g;
  const int scale = g.weight("scale", {});
  auto real = [&](int t, Shape shape) { return g.node("DequantizeLinear", {t, scale}, std::move(shape)); };
  const int x = real(g.input("x", {8, 64}, DataType::kUint8), {8, 64});
  const int w = real(g.weight("w", {100, 64}, DataType::kInt8), {100, 64});
  EngineGraph engine = engine_graph(g.finish({g.node("Gemm", {x, w}, {8, 100}, {{"transB", int64_t{1}}})}), kAvx512);
  EXPECT_EQ(ops(engine), Ops({"QGemm"}));
  ASSERT_EQ(engine.weights.packed.size(), 1U);
  EXPECT_EQ(engine.weights.packed[0].after_bytes, 112 * (64 + 4));
  EXPECT_EQ(engine.weights.packed[0].aside_bytes, 100 * 64);
}

// Without a quantisation behind it the convolution has no kernel on integers: the weight is dequantised in every run, into
// an activation of 64 · 32 · 4 bytes.
TEST(EngineGraph, WeightsWithoutAKernelOnIntegersAreDequantisedInEveryRun) {
  GraphBuilder g;
  const int w = g.node("DequantizeLinear", {g.weight("w", {64, 32, 1, 1}, DataType::kInt8), g.weight("scale", {})},
                       {64, 32, 1, 1});
  EngineGraph engine =
      engine_graph(g.finish({g.node("Conv", {g.input("x", {1, 32, 8, 8}), w}, {1, 64, 8, 8})}), kAvx512);
  EXPECT_EQ(ops(engine), Ops({"DequantizeLinear", "Conv"}));
  EXPECT_TRUE(engine.weights.computed.empty());
  EXPECT_EQ(engine.tensors[static_cast<size_t>(w)].bytes, 64 * 32 * 4);
}

TEST(EngineGraph, PlainConvolutionsNeedRoomForTheirWindows) {
  GraphBuilder g;
  int y = g.node("Conv", {g.input("x", {1, 3, 8, 8}), g.weight("w", {4, 3, 3, 3})}, {1, 4, 8, 8});
  EXPECT_EQ(engine_graph(g.finish({y}), kPlain).steps[0].workspace_bytes, 3 * 9 * 64 * 4);
}

// A branch of which each side holds a weight of 64 × 64 and makes 64 numbers twice over.
TEST(EngineGraph, BodiesBringTheirWeightsAndWhatLivesWhileTheyRun) {
  GraphBuilder inside;
  const int x = inside.input("y", {1, 64}), w = inside.weight("inner", {64, 64});
  const int y = inside.node("Relu", {inside.node("MatMul", {x, w}, {1, 64})}, {1, 64});
  auto body = std::make_shared<model::Graph>(inside.finish({y}));
  GraphBuilder g;
  const int condition = g.input("condition", {}, DataType::kBool);
  EngineGraph engine = engine_graph(
      g.finish({g.node("If", {condition}, {1, 64}, {{"then_branch", body}, {"else_branch", body}})}), kAvx512);
  ASSERT_EQ(engine.weights.stored.size(), 2U);
  EXPECT_EQ(engine.weights.stored[0].bytes, 64 * 64 * 4);
  EXPECT_EQ(engine.steps[0].workspace_bytes, 2 * 64 * 4);
}

}  // namespace
}  // namespace ridge::predict
