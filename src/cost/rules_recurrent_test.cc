#include <gtest/gtest.h>

#include "cost/test_graph.h"

namespace ridge::cost::testing {
namespace {

// 10 steps, batch 2, 3 inputs, 4 units.
NodeCost layer(const std::string& op, int64_t gates, int64_t directions, bool bias, bool lengths = false) {
  std::vector<Operand> inputs = {
      tensor({10, 2, 3}), weight({directions, gates * 4, 3}), weight({directions, gates * 4, 4}),
      bias ? weight({directions, 2 * gates * 4}) : absent(), lengths ? tensor({2}, DataType::kInt32) : absent()};
  return cost(op, inputs, {tensor({10, directions, 2, 4})});
}

TEST(Recurrent, MultipliesInputAndStateForEveryGate) {
  // 10·2 cells × gates · 4 units × (3 + 4)
  EXPECT_DOUBLE_EQ(layer("RNN", 1, 1, false).macs, 20 * 1 * 4 * 7);
  EXPECT_DOUBLE_EQ(layer("GRU", 3, 1, false).macs, 20 * 3 * 4 * 7);
  EXPECT_DOUBLE_EQ(layer("LSTM", 4, 1, false).macs, 20 * 4 * 4 * 7);
}

TEST(Recurrent, DoublesForTwoDirections) {
  EXPECT_DOUBLE_EQ(layer("LSTM", 4, 2, true).flops, 2 * layer("LSTM", 4, 1, true).flops);
  EXPECT_EQ(layer("LSTM", 4, 2, true).parameters, 2 * (16 * 3 + 16 * 4 + 32));
}

TEST(Recurrent, AddsBiasesAndActivationsPerUnit) {
  // LSTM per unit: 3 sigmoids of 4, two tanh, 3 for the cell, 1 for the state = 18, and 4 biases.
  EXPECT_DOUBLE_EQ(layer("LSTM", 4, 1, true).flops, 2 * 20 * 16 * 7 + 20 * 4 * (18 + 4));
  EXPECT_DOUBLE_EQ(layer("GRU", 3, 1, true).flops, 2 * 20 * 12 * 7 + 20 * 4 * (14 + 3));
  EXPECT_DOUBLE_EQ(layer("RNN", 1, 1, true).flops, 2 * 20 * 4 * 7 + 20 * 4 * (1 + 1));
}

TEST(Recurrent, NeedsNothingForSureWhenLengthsAreData) {
  EXPECT_DOUBLE_EQ(layer("LSTM", 4, 1, true, true).needed_flops, 0);
  EXPECT_DOUBLE_EQ(layer("LSTM", 4, 1, true).needed_flops, 2 * 20 * 16 * 7);
}

}  // namespace
}  // namespace ridge::cost::testing
