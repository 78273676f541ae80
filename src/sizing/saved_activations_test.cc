#include "sizing/saved_activations.h"

#include <gtest/gtest.h>

#include "cost/test_graph.h"

namespace ridge::sizing {
namespace {

using cost::testing::GraphBuilder;

constexpr double kFp32 = 4;

// Conv → BatchNormalization → Relu: kept are the image, the convolution's result and the activation's result; of the
// normalisation, mean and deviation. Its own result is not: Relu's backward uses Relu's result.
model::Graph conv_bn_relu() {
  GraphBuilder g;
  int x = g.input("x", {1, 3, 8, 8});
  int y = g.node("Conv", {x, g.weight("w", {4, 3, 3, 3})}, {1, 4, 8, 8});
  int z = g.node("BatchNormalization",
                 {y, g.weight("s", {4}), g.weight("b", {4}), g.weight("m", {4}), g.weight("v", {4})}, {1, 4, 8, 8});
  return g.finish({g.node("Relu", {z}, {1, 4, 8, 8})});
}

TEST(SavedActivations, OfAConvolutionWithNormalisationAndActivation) {
  SavedActivations saved = saved_activations(conv_bn_relu());
  EXPECT_EQ(saved.kept_bytes, kFp32 * (3 * 64 + 4 * 64 + 2 * 4 + 4 * 64));
  EXPECT_TRUE(saved.without_rule.empty());
}

TEST(SavedActivations, TakeHalfInSixteenBits) {
  SavedOptions half;
  half.float_bytes = 2;
  EXPECT_EQ(2 * saved_activations(conv_bn_relu(), half).kept_bytes, saved_activations(conv_bn_relu()).kept_bytes);
}

TEST(SavedActivations, ATensorThatTwoNodesKeepCountsOnce) {
  GraphBuilder g;
  int x = g.input("x", {4, 16});
  int y = g.node("Relu", {g.node("MatMul", {x, g.weight("w", {16, 16})}, {4, 16})}, {4, 16});
  int a = g.node("MatMul", {y, g.weight("a", {16, 8})}, {4, 8});
  int b = g.node("MatMul", {y, g.weight("b", {16, 8})}, {4, 8});
  SavedActivations saved = saved_activations(g.finish({g.node("Add", {a, b}, {4, 8})}));
  EXPECT_EQ(saved.kept_bytes, kFp32 * (4 * 16 + 4 * 16));  // x and the result of Relu
}

TEST(SavedActivations, AViewIsKeptAsWhatItShows) {
  GraphBuilder g;
  int x = g.input("x", {4, 16});
  int y = g.node("Tanh", {g.node("MatMul", {x, g.weight("w", {16, 16})}, {4, 16})}, {4, 16});
  int flat = g.node("Reshape", {y, g.weight("shape", {1}, DataType::kInt64)}, {2, 32});
  SavedActivations saved = saved_activations(g.finish({g.node("MatMul", {flat, g.weight("v", {32, 8})}, {2, 8})}));
  EXPECT_EQ(saved.kept_bytes, kFp32 * (64 + 64));
}

// Attention of one head: Q, K, V, the probabilities, and the input of the three projections.
TEST(SavedActivations, OfAttentionIncludeTheScoresOnce) {
  constexpr int64_t kLength = 10, kWidth = 8;
  GraphBuilder g;
  int x = g.input("x", {kLength, kWidth});
  int q = g.node("MatMul", {x, g.weight("q", {kWidth, kWidth})}, {kLength, kWidth});
  int k = g.node("MatMul", {x, g.weight("k", {kWidth, kWidth})}, {kLength, kWidth});
  int v = g.node("MatMul", {x, g.weight("v", {kWidth, kWidth})}, {kLength, kWidth});
  int turned = g.node("Transpose", {k}, {kWidth, kLength});
  int scores = g.node("MatMul", {q, turned}, {kLength, kLength});
  int scaled = g.node("Div", {scores, g.weight("root", {})}, {kLength, kLength});
  int shares = g.node("Softmax", {scaled}, {kLength, kLength});
  SavedActivations saved = saved_activations(g.finish({g.node("MatMul", {shares, v}, {kLength, kWidth})}));
  EXPECT_EQ(saved.kept_bytes, kFp32 * (4 * kLength * kWidth + kLength * kLength));
}

TEST(SavedActivations, PeakIncludesGradientsOfActivations) {
  GraphBuilder g;
  int x = g.input("x", {4, 16});
  int y = g.node("MatMul", {x, g.weight("w", {16, 16})}, {4, 16});
  SavedActivations saved = saved_activations(g.finish({y}));
  EXPECT_EQ(saved.kept_bytes, kFp32 * 64);
  EXPECT_EQ(saved.peak_bytes, kFp32 * (64 + 64));  // x, and the gradient of y
}

// A chain of n equal layers: n + 1 tensors are kept; √n segments of √n tensors need about 2 √n.
TEST(SavedActivations, CheckpointingAChainNeedsAboutTwiceTheSquareRoot) {
  constexpr int kLayers = 100;
  GraphBuilder g;
  int x = g.input("x", {1, 64});
  for (int i = 0; i < kLayers; ++i)
    x = g.node("Tanh", {g.node("MatMul", {x, g.weight("w" + std::to_string(i), {64, 64})}, {1, 64})}, {1, 64});
  SavedActivations saved = saved_activations(g.finish({x}));
  const double layer = kFp32 * 64;
  EXPECT_NEAR(saved.kept_bytes / layer, kLayers + 1, 1);
  EXPECT_GE(saved.checkpointed_bytes / layer, 20);
  EXPECT_LE(saved.checkpointed_bytes / layer, 25);
  EXPECT_GE(saved.segments, 5);
  EXPECT_LE(saved.segments, 20);
}

TEST(SavedActivations, WithAdaptersOnlyNothingBeforeTheFirstLinearLayerIsKept) {
  GraphBuilder g;
  int x = g.input("x", {1, 64});
  int norm = g.node("LayerNormalization", {x, g.weight("s", {64}), g.weight("b", {64})}, {1, 64});
  int y = g.node("MatMul", {norm, g.weight("w", {64, 32})}, {1, 32});
  model::Graph graph = g.finish({y});
  SavedOptions adapters;
  adapters.adapters_only = true;
  EXPECT_EQ(saved_activations(graph, adapters).kept_bytes, kFp32 * 64);  // the linear layer's input
  EXPECT_EQ(saved_activations(graph).kept_bytes, kFp32 * (64 + 2 + 64));
}

TEST(SavedActivations, NameOperatorsWithoutRule) {
  GraphBuilder g;
  int x = g.node("MatMul", {g.input("x", {4, 16}), g.weight("w", {16, 16})}, {4, 16});
  EXPECT_EQ(saved_activations(g.finish({g.node("Mystery", {x}, {4, 16})})).without_rule,
            std::vector<std::string>({"Mystery"}));
}

}  // namespace
}  // namespace ridge::sizing
