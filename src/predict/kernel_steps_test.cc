// Worked examples: the steps of a kernel do all of its multiply-adds, as often as the engine does.
#include "predict/kernel_steps.h"

#include <gtest/gtest.h>

namespace ridge::predict {
namespace {

cost::Operand tensor(Shape shape, bool weight = false) { return {true, DataType::kFp32, std::move(shape), weight, {}}; }

Kernel kernel(const std::string& op, std::vector<cost::Operand> inputs, Shape output,
              std::map<std::string, model::Attribute> attributes = {}) {
  Kernel made;
  made.op = op;
  made.inputs = std::move(inputs);
  made.outputs = {tensor(std::move(output))};
  made.attributes = std::move(attributes);
  return made;
}

// Of products [.., m, k] · [k, n].
double multiply_adds(const std::vector<ExecutedKernel>& steps) {
  double sum = 0;
  for (const ExecutedKernel& step : steps) {
    EXPECT_FALSE(step.dispatched) << step.kernel.op;
    if (step.kernel.op != "MatMul") continue;
    sum += step.times * operand_elements(step.kernel.outputs[0]) *
           static_cast<double>(step.kernel.inputs[0].shape->back());
  }
  return sum;
}

TEST(KernelSteps, RecurrentLayersMultiplyAllInputsAtOnceAndTheStateTurnByTurn) {
  // 7 steps of 2 rows, 10 inputs, 16 units, two directions: 2 · 7 · 2 · gates · 16 · (10 + 16).
  const std::vector<std::pair<std::string, int64_t>> layers = {{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}};
  for (const auto& [op, gates] : layers) {
    const auto steps =
        steps_of(kernel(op, {tensor({7, 2, 10}), tensor({2, gates * 16, 10}, true), tensor({2, gates * 16, 16}, true)},
                        {7, 2, 2, 16}),
                 1);
    EXPECT_DOUBLE_EQ(multiply_adds(steps), 2.0 * 7 * 2 * static_cast<double>(gates) * 16 * (10 + 16)) << op;
    ASSERT_GE(steps.size(), 3U);
    EXPECT_DOUBLE_EQ(steps[0].times, 2) << "one product per direction";
    EXPECT_DOUBLE_EQ(steps[1].times, 14) << "one per direction and step";
  }
}

TEST(KernelSteps, ATransposedConvolutionIsAProductPerImageAndGroup) {
  // [3, 8, 5, 5] by 8 → 6 channels, 4 × 4, two groups: 3 · 25 · 8 · 3 · 16.
  const auto steps = steps_of(kernel("ConvTranspose", {tensor({3, 8, 5, 5}), tensor({8, 3, 4, 4}, true)},
                                     {3, 6, 10, 10}, {{"group", int64_t{2}}}),
                              1);
  EXPECT_DOUBLE_EQ(multiply_adds(steps), 3.0 * 25 * 8 * 3 * 16);
}

TEST(KernelSteps, AttentionIsTwoProductsAndASoftmaxInEitherLayout) {
  // 2 rows, 4 heads of 8, 5 queries on 6 keys: 2 · 4 · 5 · 6 · (8 + 8).
  const auto apart = steps_of(
      kernel("Attention", {tensor({2, 4, 5, 8}), tensor({2, 4, 6, 8}), tensor({2, 4, 6, 8})}, {2, 4, 5, 8}), 1);
  const auto flat = steps_of(kernel("Attention", {tensor({2, 5, 32}), tensor({2, 6, 32}), tensor({2, 6, 32})},
                                    {2, 5, 32}, {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{4}}}),
                             1);
  EXPECT_DOUBLE_EQ(multiply_adds(apart), 2.0 * 4 * 5 * 6 * 16);
  EXPECT_DOUBLE_EQ(multiply_adds(flat), multiply_adds(apart));
}

TEST(KernelSteps, WhatIsTimedItselfOrHasNoSizeIsLeftWhole) {
  EXPECT_TRUE(steps_of(kernel("Relu", {tensor({4})}, {4}), 1).empty());
  EXPECT_TRUE(steps_of(kernel("LSTM", {tensor({-1, 2, 10}), tensor({1, 64, 10}, true)}, {-1, 1, 2, 16}), 1).empty());
}

TEST(KernelSteps, ProductsOfIntegersTakeTheirShareOfTheSameInFp32) {
  // 1 × 1 of 16 → 32 channels over 10 × 10; peaks of 1 and 4: 1 / 4 of the time at best, 1 / 2.9 as observed.
  EXPECT_NEAR(integer_share_of(1, 4), 1 / 2.9, 1e-9);
  EXPECT_DOUBLE_EQ(integer_share_of(1, 0), 1);
  const auto steps =
      steps_of(kernel("QLinearConv", {tensor({1, 16, 10, 10}), tensor({32, 16, 1, 1}, true)}, {1, 32, 10, 10}), 0.5);
  EXPECT_DOUBLE_EQ(multiply_adds(steps), 0.5 * 100 * 16 * 32);
  const auto depthwise = steps_of(kernel("QLinearConv", {tensor({1, 16, 10, 10}), tensor({16, 1, 3, 3}, true)},
                                         {1, 16, 10, 10}, {{"group", int64_t{16}}}),
                                  0.5);
  ASSERT_EQ(depthwise.size(), 1U);
  EXPECT_EQ(depthwise[0].kernel.op, "Conv");
  const auto gemm = steps_of(
      kernel("QGemm", {tensor({8, 16}), tensor({}), tensor({}), tensor({16, 4}, true), tensor({}), tensor({})}, {8, 4}),
      0.5);
  EXPECT_DOUBLE_EQ(multiply_adds(gemm), 0.5 * 8 * 16 * 4) << "the weights follow the scale and zero point";
}

}  // namespace
}  // namespace ridge::predict
