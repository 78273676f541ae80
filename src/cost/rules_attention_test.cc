#include <gtest/gtest.h>

#include "cost/test_graph.h"

namespace ridge::cost::testing {
namespace {

TEST(Attention, CountsScoresValuesAndSoftmax) {
  // batch 2, 4 heads of 8, 6 queries, 10 keys: scores 2·4·6·10·8, values the same; 6 per score (scale and softmax).
  Operand q = tensor({2, 4, 6, 8}), k = tensor({2, 4, 10, 8}), v = tensor({2, 4, 10, 8});
  NodeCost c = cost("Attention", {q, k, v}, {q});
  EXPECT_DOUBLE_EQ(c.macs, 2 * (2 * 4 * 6 * 10 * 8));
  EXPECT_DOUBLE_EQ(c.flops, 2 * c.macs + 6 * 2 * 4 * 6 * 10);
}

TEST(Attention, TakesPackedHeadsAndFewerKeyHeads) {
  Attributes heads = {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}};
  NodeCost c =
      cost("Attention", {tensor({2, 6, 32}), tensor({2, 10, 16}), tensor({2, 10, 16})}, {tensor({2, 6, 32})}, heads);
  EXPECT_DOUBLE_EQ(c.macs, 2 * (2 * 4 * 6 * 10 * 8));
}

TEST(Attention, CausalNeedsOnlyThePairsThatMayBeSeen) {
  Operand q = tensor({1, 1, 4, 8});
  NodeCost c = cost("Attention", {q, q, q}, {q}, {{"is_causal", int64_t{1}}});
  EXPECT_DOUBLE_EQ(c.macs, 2 * 16 * 8);
  EXPECT_DOUBLE_EQ(c.needed_flops, 2 * 2 * 8 * (1 + 2 + 3 + 4));
  // Query i sees i + 4 of 7 keys, 3 of them cached: 4 + 5 + 6 + 7.
  Operand past = tensor({1, 1, 3, 8});
  NodeCost cached = cost("Attention", {q, q, q, absent(), past, past}, {q}, {{"is_causal", int64_t{1}}});
  EXPECT_DOUBLE_EQ(cached.macs, 2 * 4 * 7 * 8);
  EXPECT_DOUBLE_EQ(cached.needed_flops, 2 * 2 * 8 * (4 + 5 + 6 + 7));
}

TEST(Attention, OfOnnxRuntimeProjectsFirst) {
  // 5 tokens of 16, weights [16, 3·16]: 5·16·48, then scores and values 2·5·5·16.
  NodeCost c = cost("Attention", {tensor({1, 5, 16}), weight({16, 48}), weight({48})}, {tensor({1, 5, 16})},
                    {{"num_heads", int64_t{2}}}, "com.microsoft");
  EXPECT_DOUBLE_EQ(c.macs, 5 * 16 * 48 + 2 * 5 * 5 * 16);
  EXPECT_DOUBLE_EQ(c.flops, 2 * c.macs + 5 * 48 + 2 * 25 * 6);
}

TEST(Attention, MultiHeadTakesSeparateOrPackedKeys) {
  Attributes heads = {{"num_heads", int64_t{2}}};
  Operand q = tensor({1, 5, 16}), y = tensor({1, 5, 16});
  EXPECT_DOUBLE_EQ(
      cost("MultiHeadAttention", {q, tensor({1, 7, 16}), tensor({1, 7, 16})}, {y}, heads, "com.microsoft").macs,
      2 * 5 * 7 * 16);
  EXPECT_DOUBLE_EQ(cost("MultiHeadAttention", {tensor({1, 5, 2, 3, 8})}, {y}, heads, "com.microsoft").macs,
                   2 * 5 * 5 * 16);
  EXPECT_DOUBLE_EQ(
      cost("MultiHeadAttention", {q, tensor({1, 2, 9, 8}), tensor({1, 2, 9, 8})}, {y}, heads, "com.microsoft").macs,
      2 * 5 * 9 * 16);
}

TEST(Attention, GroupQueryIsCausalOverItsCache) {
  Attributes heads = {{"num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}};
  Operand cache = tensor({1, 2, 20, 8});
  NodeCost c = cost("GroupQueryAttention", {tensor({1, 3, 32}), tensor({1, 3, 16}), tensor({1, 3, 16}), cache, cache},
                    {tensor({1, 3, 32}), cache, cache}, heads, "com.microsoft");
  EXPECT_DOUBLE_EQ(c.macs, 2 * 3 * 20 * 32);
  EXPECT_DOUBLE_EQ(c.needed_flops, 2 * 2 * 32 * (1 + 2 + 3));
}

}  // namespace
}  // namespace ridge::cost::testing
