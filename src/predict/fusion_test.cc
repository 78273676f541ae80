// Each pattern by itself, in a graph written by hand: what kinds of kernels are left, in execution order.
#include "predict/fusion.h"

#include <gtest/gtest.h>

#include "cost/test_graph.h"

namespace ridge::predict {
namespace {

using cost::testing::GraphBuilder;
using cost::testing::ints;

std::string kinds(const model::Graph& graph, EngineTraits traits = {}) {
  std::string text;
  for (const model::Node& node : executed_graph(graph, traits).nodes)
    text += (text.empty() ? "" : " ") + std::string(node.domain == "com.microsoft.nchwc" ? "b." : "") + node.op;
  return text;
}

cost::testing::Attributes window(int64_t kernel, int64_t pad = 0, int64_t group = 1) {
  return {{"kernel_shape", ints({kernel, kernel})},
          {"pads", ints({pad, pad, pad, pad})},
          {"strides", ints({1, 1})},
          {"group", group}};
}

// [1, in, 8, 8] → [1, out, 8, 8]
int convolution(GraphBuilder& b, int x, int64_t in, int64_t out, int64_t group = 1) {
  static int number = 0;
  const int weight = b.weight("w" + std::to_string(number++), {out, in / group, 3, 3});
  return b.node("Conv", {x, weight}, {1, out, 8, 8}, window(3, 1, group));
}

int normalisation(GraphBuilder& b, int x, int64_t channels) {
  std::vector<int> inputs = {x};
  for (const char* name : {"scale", "shift", "mean", "variance"})
    inputs.push_back(b.weight(std::string(name) + std::to_string(x), {channels}));
  return b.node("BatchNormalization", inputs, {1, channels, 8, 8});
}

TEST(Fusion, NormalisationScaleOffsetAndActivationMeltIntoTheConvolutionBefore) {
  GraphBuilder b;
  int x = normalisation(b, convolution(b, b.input("x", {1, 3, 8, 8}), 3, 32), 32);
  x = b.node("Mul", {x, b.weight("gamma", {32, 1, 1})}, {1, 32, 8, 8});
  x = b.node("Add", {x, b.weight("beta", {32, 1, 1})}, {1, 32, 8, 8});
  x = b.node("Relu", {x}, {1, 32, 8, 8});
  const model::Graph graph = b.finish({x});
  EXPECT_EQ(kinds(graph), "b.Conv b.ReorderOutput");
  EXPECT_EQ(kinds(graph, {.block = 0}), "FusedConv");
  EXPECT_EQ(kinds(graph, {.level = plan::GraphLevel::kBasic}), "Conv Relu");
  EXPECT_EQ(kinds(graph, {.level = plan::GraphLevel::kOff}), "Conv BatchNormalization Mul Add Relu");
}

TEST(Fusion, AResultUsedTwiceIsNotMelted) {
  GraphBuilder b;
  const int c = convolution(b, b.input("x", {1, 16, 8, 8}), 16, 16);
  const int r = b.node("Relu", {c}, {1, 16, 8, 8});
  EXPECT_EQ(kinds(b.finish({c, r})), "b.ReorderInput b.Conv Relu b.ReorderOutput b.ReorderOutput");
}

TEST(Fusion, AnAdditionOfTwoBlockedImagesMeltsIntoOneConvolution) {
  GraphBuilder b;
  const int x = convolution(b, b.input("x", {1, 3, 8, 8}), 3, 16);
  const int sum = b.node("Add", {convolution(b, x, 16, 16), x}, {1, 16, 8, 8});
  const model::Graph executed = executed_graph(b.finish({b.node("Relu", {sum}, {1, 16, 8, 8})}), {});
  ASSERT_EQ(executed.nodes.size(), 3U);
  EXPECT_EQ(executed.nodes[1].inputs.size(), 4U);  // the other image is its fourth input
  EXPECT_EQ(std::get<std::string>(executed.nodes[1].attributes.at("activation")), "Relu");
}

TEST(Fusion, ChannelsThatFillNoBlockArePaddedInConvolutionsButNotInPools) {
  GraphBuilder b;
  int x = convolution(b, b.input("x", {1, 3, 8, 8}), 3, 24);
  x = b.node("MaxPool", {x}, {1, 24, 8, 8}, window(3, 1));
  const model::Graph graph = b.finish({convolution(b, x, 24, 24)});
  EXPECT_EQ(kinds(graph), "b.Conv b.ReorderOutput MaxPool b.ReorderInput b.Conv b.ReorderOutput");
  EXPECT_EQ(kinds(graph, {.block = 8}), "b.Conv b.MaxPool b.Conv b.ReorderOutput");
  const model::Graph executed = executed_graph(graph, {});
  const model::Node& last = executed.nodes[4];
  EXPECT_EQ(*executed.tensors[static_cast<size_t>(last.inputs[1])].shape, (Shape{32, 32, 3, 3}));
}

TEST(Fusion, GroupsThatFillNoBlockStayPlainDepthwiseOnesDoNot) {
  GraphBuilder b;
  int x = b.input("x", {1, 24, 8, 8});
  EXPECT_EQ(kinds(b.finish({convolution(b, x, 24, 24, 3)})), "Conv");
  GraphBuilder d;
  x = d.input("x", {1, 24, 8, 8});
  EXPECT_EQ(kinds(d.finish({convolution(d, x, 24, 24, 24)})), "b.ReorderInput b.Conv b.ReorderOutput");
}

TEST(Fusion, NormalisationWithoutAConvolutionBeforeItBecomesOne) {
  GraphBuilder b;
  int x = convolution(b, b.input("x", {1, 3, 8, 8}), 3, 16);
  const int pooled = b.node("MaxPool", {x}, {1, 16, 8, 8}, window(3, 1));
  const int scaled = b.node("Mul", {normalisation(b, pooled, 16), b.weight("gamma", {16, 1, 1})}, {1, 16, 8, 8});
  EXPECT_EQ(kinds(b.finish({scaled})), "b.Conv b.MaxPool b.Conv b.Conv b.ReorderOutput");
}

TEST(Fusion, ConcatenationStaysBlockedOnlyIfAllPartsFillBlocks) {
  for (int64_t channels : {16, 24}) {
    GraphBuilder b;
    const int x = b.input("x", {1, 3, 8, 8});
    const int whole = b.node("Concat", {convolution(b, x, 3, channels), convolution(b, x, 3, 32)},
                             {1, channels + 32, 8, 8}, {{"axis", int64_t{1}}});
    EXPECT_EQ(kinds(b.finish({whole})), channels == 16 ? "b.Conv b.Conv Concat b.ReorderOutput"
                                                       : "b.Conv b.ReorderOutput b.Conv b.ReorderOutput Concat");
  }
}

TEST(Fusion, SigmoidTimesItsInputIsOneKernelThatFollowsTheLayout) {
  GraphBuilder b;
  const int c = convolution(b, b.input("x", {1, 3, 8, 8}), 3, 16);
  const int silu = b.node("Mul", {c, b.node("Sigmoid", {c}, {1, 16, 8, 8})}, {1, 16, 8, 8});
  EXPECT_EQ(kinds(b.finish({convolution(b, silu, 16, 16)})), "b.Conv QuickGelu b.Conv b.ReorderOutput");
}

TEST(Fusion, HardSwishInEitherSpellingIsTheActivationOfTheConvolutionBefore) {
  for (bool whole : {false, true}) {
    GraphBuilder b;
    const Shape s = {1, 16, 8, 8};
    const int c = convolution(b, b.input("x", {1, 3, 8, 8}), 3, 16);
    const int y = whole ? b.node("HardSwish", {c}, s) : b.node("Mul", {c, b.node("HardSigmoid", {c}, s)}, s);
    const model::Graph executed = executed_graph(b.finish({convolution(b, y, 16, 16)}), {});
    ASSERT_EQ(executed.nodes.size(), 3U);
    EXPECT_EQ(std::get<std::string>(executed.nodes[0].attributes.at("activation")), "HardSwish");
  }
}

int gelu(GraphBuilder& b, int x, const Shape& shape) {
  const int e = b.node("Erf", {b.node("Div", {x, b.weight("root2", {})}, shape)}, shape);
  const int product = b.node("Mul", {x, b.node("Add", {e, b.weight("one", {})}, shape)}, shape);
  return b.node("Mul", {product, b.weight("half", {})}, shape);
}

TEST(Fusion, GeluSpelledOutIsOneKernelAndTakesABias) {
  GraphBuilder b;
  const int x = b.input("x", {2, 8, 32});
  EXPECT_EQ(kinds(b.finish({gelu(b, x, {2, 8, 32})})), "Gelu");
  GraphBuilder with;
  const int sum = with.node("Add", {with.weight("bias", {32}), with.input("x", {2, 8, 32})}, {2, 8, 32});
  EXPECT_EQ(kinds(with.finish({gelu(with, sum, {2, 8, 32})})), "BiasGelu");
}

TEST(Fusion, GeluThatHalvesBeforeItMultipliesIsLeftAsItIs) {
  GraphBuilder b;
  const Shape s = {2, 8, 32};
  const int x = b.input("x", s);
  const int e = b.node("Erf", {b.node("Div", {x, b.weight("root2", {})}, s)}, s);
  const int halved = b.node("Mul", {b.weight("half", {}), b.node("Add", {e, b.weight("one", {})}, s)}, s);
  EXPECT_EQ(kinds(b.finish({b.node("Mul", {x, halved}, s)})), "Div Erf Add Mul Mul");
}

TEST(Fusion, LayerNormalisationSpelledOutIsOneKernel) {
  GraphBuilder b;
  const Shape s = {2, 8, 32}, m = {2, 8, 1};
  const int x = b.input("x", s);
  const int d = b.node("Sub", {x, b.node("ReduceMean", {x}, m)}, s);
  const int v = b.node("ReduceMean", {b.node("Pow", {d, b.weight("two", {})}, s)}, m);
  const int q = b.node("Div", {d, b.node("Sqrt", {b.node("Add", {v, b.weight("epsilon", {})}, m)}, m)}, s);
  const int y = b.node("Add", {b.node("Mul", {q, b.weight("gamma", {32})}, s), b.weight("beta", {32})}, s);
  EXPECT_EQ(kinds(b.finish({y})), "LayerNormalization");
}

TEST(Fusion, RootMeanSquareNormalisationSpelledOutIsOneKernel) {
  for (bool reciprocal : {false, true}) {
    GraphBuilder b;
    const Shape s = {2, 8, 32}, m = {2, 8, 1};
    const int x = b.input("x", s);
    const int v = b.node("ReduceMean", {b.node("Pow", {x, b.weight("two", {})}, s)}, m);
    const int root = b.node("Sqrt", {b.node("Add", {v, b.weight("epsilon", {})}, m)}, m);
    const int q =
        reciprocal ? b.node("Mul", {x, b.node("Div", {b.weight("one", {}), root}, m)}, s) : b.node("Div", {x, root}, s);
    const int y = b.node("Mul", {b.weight("gamma", {32}), q}, s);
    EXPECT_EQ(kinds(b.finish({y})), "SimplifiedLayerNormalization");
  }
}

model::Graph dense(bool open) {
  GraphBuilder b;
  const int x = b.input("x", {2, 8, 32});
  const int sum =
      b.node("Add", {b.weight("bias", {64}), b.node("MatMul", {x, b.weight("w", {32, 64})}, {2, 8, 64})}, {2, 8, 64});
  model::Graph graph = b.finish({sum});
  graph.input_specs = {{{"x", DataType::kFp32, {2, 8, 32}}, {open ? "batch" : "", "", ""}}};
  return graph;
}

TEST(Fusion, AProductWithBiasBecomesGemmWhereTheFileFixesTheShape) {
  EXPECT_EQ(kinds(dense(false)), "Reshape Gemm Reshape");
  EXPECT_EQ(kinds(dense(true)), "MatMul Add");
}

TEST(Fusion, AFactorOnAProductMeltsIntoIt) {
  GraphBuilder b;
  const int product = b.node("MatMul", {b.input("q", {4, 8, 16}), b.input("k", {4, 16, 8})}, {4, 8, 8});
  EXPECT_EQ(kinds(b.finish({b.node("Div", {product, b.weight("root", {})}, {4, 8, 8})})), "FusedMatMul");
}

TEST(Fusion, ASwapOfTheLastTwoDimensionsMeltsIntoTheProduct) {
  GraphBuilder b;
  const int t = b.node("Transpose", {b.input("k", {4, 8, 16})}, {4, 16, 8}, {{"perm", ints({0, 2, 1})}});
  const model::Graph executed =
      executed_graph(b.finish({b.node("MatMul", {b.input("q", {4, 8, 16}), t}, {4, 8, 8})}), {});
  ASSERT_EQ(executed.nodes.size(), 1U);
  EXPECT_EQ(std::get<int64_t>(executed.nodes[0].attributes.at("transB")), 1);
}

TEST(Fusion, WhatIsConstantUnusedOrWithoutEffectDoesNotRun) {
  GraphBuilder b;
  const int x = b.input("x", {2, 32});
  const int scale = b.node("Sqrt", {b.weight("w", {32})}, {32});
  b.node("Exp", {x}, {2, 32});  // nobody wants it
  const int same = b.node("Dropout", {b.node("Mul", {x, scale}, {2, 32})}, {2, 32});
  EXPECT_EQ(kinds(b.finish({b.node("Relu", {same}, {2, 32})})), "Mul Relu");
}

TEST(Fusion, TheSameNodeTwiceRunsOnce) {
  GraphBuilder b;
  const int x = b.input("x", {2, 32});
  const int sum = b.node("Add", {b.node("Exp", {x}, {2, 32}), b.node("Exp", {x}, {2, 32})}, {2, 32});
  EXPECT_EQ(kinds(b.finish({sum})), "Exp Add");
}

TEST(Fusion, ShapesAreComputedWhileRunningOnlyWhereTheFileLeavesThemOpen) {
  for (bool open : {false, true}) {
    GraphBuilder b;
    const int x = b.input("x", {2, 32});
    const int shape = b.node("Shape", {x}, {2}, {}, DataType::kInt64);
    model::Graph graph = b.finish({b.node("Reshape", {b.node("Relu", {x}, {2, 32}), shape}, {2, 32})});
    graph.input_specs = {{{"x", DataType::kFp32, {2, 32}}, {open ? "batch" : "", ""}}};
    EXPECT_EQ(kinds(graph), open ? "Relu Shape Reshape" : "Relu Reshape");
  }
}

// As the engine does it: depth first from the end, of two branches the later one first.
TEST(Fusion, KernelsRunDepthFirstFromTheEndTheLaterBranchFirst) {
  GraphBuilder b;
  const int x = b.input("x", {2, 32});
  const int left = b.node("Tanh", {b.node("Exp", {x}, {2, 32})}, {2, 32});
  const int right = b.node("Sqrt", {b.node("Abs", {x}, {2, 32})}, {2, 32});
  EXPECT_EQ(kinds(b.finish({b.node("Add", {left, right}, {2, 32})})), "Abs Sqrt Exp Tanh Add");
}

// x → DQ → Conv(DQ(w), DQ(b)) → Relu → Q, as quantisers write it.
TEST(Fusion, AnOperatorBetweenDequantisationAndQuantisationIsOneKernelOnIntegers) {
  GraphBuilder b;
  const int scale = b.weight("scale", {});
  auto dequantised = [&](int t, Shape shape) { return b.node("DequantizeLinear", {t, scale}, std::move(shape)); };
  const int x = dequantised(b.input("x", {1, 16, 8, 8}, DataType::kUint8), {1, 16, 8, 8});
  const int w = dequantised(b.weight("w", {16, 16, 3, 3}, DataType::kInt8), {16, 16, 3, 3});
  const int bias = dequantised(b.weight("b", {16}, DataType::kInt32), {16});
  const int y = b.node("Relu", {b.node("Conv", {x, w, bias}, {1, 16, 8, 8}, window(3, 1))}, {1, 16, 8, 8});
  const int q = b.node("QuantizeLinear", {y, scale}, {1, 16, 8, 8}, {}, DataType::kUint8);
  const int pooled = b.node("MaxPool", {dequantised(q, {1, 16, 8, 8})}, {1, 16, 8, 8}, window(3, 1));
  const model::Graph executed =
      executed_graph(b.finish({b.node("QuantizeLinear", {pooled, scale}, {1, 16, 8, 8}, {}, DataType::kUint8)}), {});
  ASSERT_EQ(executed.nodes.size(), 2U);
  EXPECT_EQ(executed.nodes[0].op, "QLinearConv");
  EXPECT_EQ(executed.tensors[static_cast<size_t>(executed.nodes[0].inputs[1])].type, DataType::kInt8);
  EXPECT_EQ(executed.nodes[1].op, "MaxPool");
}

TEST(Fusion, AProductOfIntegersTakesItsScaleAndBias) {
  GraphBuilder b;
  const int x = b.input("x", {8, 32}, DataType::kUint8), w = b.weight("w", {32, 64}, DataType::kInt8);
  const int product = b.node("Cast", {b.node("MatMulInteger", {x, w}, {8, 64}, {}, DataType::kInt32)}, {8, 64});
  const int scaled = b.node("Mul", {product, b.input("scale", {})}, {8, 64});
  EXPECT_EQ(kinds(b.finish({b.node("Add", {scaled, b.weight("bias", {64})}, {8, 64})})), "MatMulIntegerToFloat");
}

}  // namespace
}  // namespace ridge::predict
