#include "sizing/backward.h"

#include <gtest/gtest.h>

namespace ridge::sizing {
namespace {

using Positions = std::vector<size_t>;

model::Node node(const std::string& op) {
  model::Node made;
  made.name = made.op = op;
  return made;
}

BackwardOperand trained(Shape shape) { return {std::move(shape), true}; }
BackwardOperand fixed(Shape shape) { return {std::move(shape), false}; }

TEST(Backward, NothingIsKeptWhereNoInputWantsAGradient) {
  SavedTensors kept =
      kept_for_backward(node("Conv"), {fixed({1, 3, 8, 8}), fixed({4, 3, 3, 3})}, {fixed({1, 4, 8, 8})});
  EXPECT_TRUE(kept.inputs.empty());
  EXPECT_TRUE(kept.outputs.empty());
}

TEST(Backward, ConvolutionKeepsItsInputForTheGradientOfItsWeights) {
  // The first layer: the image needs no gradient, so the weights need not be kept for it.
  SavedTensors first =
      kept_for_backward(node("Conv"), {fixed({1, 3, 8, 8}), trained({4, 3, 3, 3})}, {trained({1, 4, 8, 8})});
  EXPECT_EQ(first.inputs, Positions({0}));
  SavedTensors later =
      kept_for_backward(node("Conv"), {trained({1, 3, 8, 8}), trained({4, 3, 3, 3})}, {trained({1, 4, 8, 8})});
  EXPECT_EQ(later.inputs, Positions({0, 1}));
  // Frozen weights: only they are needed, to propagate the gradient.
  SavedTensors frozen =
      kept_for_backward(node("Conv"), {trained({1, 3, 8, 8}), fixed({4, 3, 3, 3})}, {trained({1, 4, 8, 8})});
  EXPECT_EQ(frozen.inputs, Positions({1}));
}

TEST(Backward, ProductOfTwoActivationsKeepsBoth) {
  EXPECT_EQ(kept_for_backward(node("MatMul"), {trained({2, 8}), trained({8, 4})}, {trained({2, 4})}).inputs,
            Positions({0, 1}));
  EXPECT_EQ(kept_for_backward(node("Mul"), {trained({2, 8}), fixed({1})}, {trained({2, 8})}).inputs, Positions({1}));
}

TEST(Backward, SumKeepsNothing) {
  SavedTensors kept = kept_for_backward(node("Add"), {trained({2, 8}), trained({2, 8})}, {trained({2, 8})});
  EXPECT_TRUE(kept.inputs.empty());
  EXPECT_TRUE(kept.outputs.empty());
  EXPECT_TRUE(kept.has_rule);
}

TEST(Backward, DivisionByAConstantDoesNotKeepTheDividend) {
  EXPECT_EQ(kept_for_backward(node("Div"), {trained({2, 8}), fixed({1})}, {trained({2, 8})}).inputs, Positions({1}));
  EXPECT_EQ(kept_for_backward(node("Div"), {trained({2, 8}), trained({2, 1})}, {trained({2, 8})}).inputs,
            Positions({0, 1}));
}

TEST(Backward, ReluSigmoidAndSoftmaxKeepTheirResultGeluItsInput) {
  for (const char* op : {"Relu", "Sigmoid", "Tanh", "Softmax", "Exp"}) {
    SavedTensors kept = kept_for_backward(node(op), {trained({2, 8})}, {trained({2, 8})});
    EXPECT_EQ(kept.outputs, Positions({0})) << op;
    EXPECT_TRUE(kept.inputs.empty()) << op;
  }
  SavedTensors gelu = kept_for_backward(node("Gelu"), {trained({2, 8})}, {trained({2, 8})});
  EXPECT_EQ(gelu.inputs, Positions({0}));
  EXPECT_TRUE(gelu.outputs.empty());
}

TEST(Backward, BatchNormalisationKeepsInputAndTwoStatisticsPerChannel) {
  SavedTensors kept =
      kept_for_backward(node("BatchNormalization"), {trained({32, 64, 56, 56})}, {trained({32, 64, 56, 56})});
  EXPECT_EQ(kept.inputs, Positions({0}));
  EXPECT_EQ(kept.extra_elements, 2 * 64);
}

TEST(Backward, LayerNormalisationKeepsInputAndTwoStatisticsPerRow) {
  SavedTensors kept = kept_for_backward(node("LayerNormalization"), {trained({8, 128, 768})}, {trained({8, 128, 768})});
  EXPECT_EQ(kept.inputs, Positions({0}));
  EXPECT_EQ(kept.extra_elements, 2 * 8 * 128);
}

TEST(Backward, DropoutKeepsOneByteAndMaxPoolEightPerElement) {
  EXPECT_EQ(kept_for_backward(node("Dropout"), {trained({4, 10})}, {trained({4, 10})}).mask_bytes, 40);
  SavedTensors pool = kept_for_backward(node("MaxPool"), {trained({1, 2, 8, 8})}, {trained({1, 2, 4, 4})});
  EXPECT_EQ(pool.mask_bytes, 8 * 32);
  EXPECT_EQ(pool.inputs, Positions({0}));
}

TEST(Backward, GatherKeepsIndices) {
  EXPECT_EQ(kept_for_backward(node("Gather"), {trained({1000, 64}), fixed({2, 8})}, {trained({2, 8, 64})}).inputs,
            Positions({1}));
}

TEST(Backward, LstmKeepsSixValuesPerStepBesideInputAndOutput) {
  SavedTensors kept = kept_for_backward(
      node("LSTM"), {trained({10, 4, 32}), trained({1, 64, 32}), trained({1, 64, 16})}, {trained({10, 1, 4, 16})});
  EXPECT_EQ(kept.extra_elements, 6 * 10 * 4 * 16);
}

TEST(Backward, UnknownOperatorKeepsAllAndSaysSo) {
  SavedTensors kept = kept_for_backward(node("Mystery"), {trained({2}), fixed({2})}, {trained({2})});
  EXPECT_FALSE(kept.has_rule);
  EXPECT_EQ(kept.inputs, Positions({0, 1}));
  EXPECT_EQ(kept.outputs, Positions({0}));
}

TEST(Backward, NoGradientPassesThroughComparisons) {
  EXPECT_FALSE(is_differentiable(node("Greater")));
  EXPECT_TRUE(kept_for_backward(node("ArgMax"), {trained({2, 8})}, {fixed({2})}).inputs.empty());
}

}  // namespace
}  // namespace ridge::sizing
