#include <gtest/gtest.h>

#include "cost/test_graph.h"

namespace ridge::cost::testing {
namespace {

TEST(Convolution, CountsEveryTapOfEveryOutputAsPublishedCountsDo) {
  // First layer of ResNet-50: 112·112·64 outputs × 3·7·7 taps = 118 013 952 multiply-adds.
  NodeCost c = cost("Conv", {tensor({1, 3, 224, 224}), weight({64, 3, 7, 7})}, {tensor({1, 64, 112, 112})},
                    {{"strides", ints({2, 2})}, {"pads", ints({3, 3, 3, 3})}});
  EXPECT_DOUBLE_EQ(c.macs, 118013952);
  EXPECT_DOUBLE_EQ(c.flops, 2 * 118013952.0);
  EXPECT_EQ(c.parameters, 64 * 3 * 7 * 7);
  EXPECT_DOUBLE_EQ(c.weight_bytes, 4.0 * 64 * 3 * 7 * 7);
  EXPECT_DOUBLE_EQ(c.bytes_read, 4.0 * (3 * 224 * 224 + 64 * 3 * 7 * 7));
  EXPECT_DOUBLE_EQ(c.bytes_written, 4.0 * 64 * 112 * 112);
}

TEST(Convolution, NeedsNoFlopsForTapsOnPadding) {
  // 3 × 3 over 7 × 7 with padding 1: of 3·7 taps per dimension the first and the last output lose one: 19.
  NodeCost c = cost("Conv", {tensor({1, 1, 7, 7}), weight({1, 1, 3, 3})}, {tensor({1, 1, 7, 7})},
                    {{"pads", ints({1, 1, 1, 1})}});
  EXPECT_DOUBLE_EQ(c.flops, 2 * 7 * 7 * 9);
  EXPECT_DOUBLE_EQ(c.needed_flops, 2 * 19 * 19);
}

TEST(Convolution, TakesPaddingFromAutoPad) {
  // 4 → 2 with stride 2, kernel 3: one element of padding, at the end for SAME_UPPER. Positions 0..2 and 2..4: 5 taps.
  Attributes same = {{"auto_pad", std::string("SAME_UPPER")}, {"strides", ints({2})}};
  EXPECT_DOUBLE_EQ(cost("Conv", {tensor({1, 1, 4}), weight({1, 1, 3})}, {tensor({1, 1, 2})}, same).needed_flops, 2 * 5);
}

TEST(Convolution, DividesInputChannelsByGroups) {
  // Depthwise 3 × 3 over 32 channels: the weight's second dimension is channels / groups = 1.
  NodeCost c = cost("Conv", {tensor({2, 32, 10, 10}), weight({32, 1, 3, 3}), weight({32})}, {tensor({2, 32, 8, 8})},
                    {{"group", int64_t{32}}});
  EXPECT_DOUBLE_EQ(c.macs, 2 * 32 * 8 * 8 * 9);
  EXPECT_DOUBLE_EQ(c.flops, 2 * 2 * 32 * 8 * 8 * 9 + 2 * 32 * 8 * 8);  // and the bias, 1 per output
}

TEST(Convolution, ReadsOnlyTheInputThatItsWindowTouches) {
  // 1 × 1 with stride 2 reads every second row and column: 4·4 of 8·8.
  NodeCost c =
      cost("Conv", {tensor({1, 2, 8, 8}), weight({2, 2, 1, 1})}, {tensor({1, 2, 4, 4})}, {{"strides", ints({2, 2})}});
  EXPECT_DOUBLE_EQ(c.bytes_read, 4.0 * (2 * 4 * 4 + 2 * 2));
}

TEST(Convolution, WorksInOneAndThreeDimensions) {
  EXPECT_DOUBLE_EQ(cost("Conv", {tensor({1, 4, 10}), weight({8, 4, 3})}, {tensor({1, 8, 8})}).macs, 8 * 8 * 4 * 3);
  EXPECT_DOUBLE_EQ(
      cost("Conv", {tensor({1, 2, 4, 4, 4}), weight({3, 2, 2, 2, 2})}, {tensor({1, 3, 3, 3, 3})}).needed_flops,
      2.0 * 3 * 27 * 2 * 8);
}

TEST(Convolution, TransposedMultipliesEveryInputByEveryTap) {
  // 2 × 2 upsampling of 4·4 with 8 → 3 channels: 16·8·3·4 multiply-adds, none falls outside.
  NodeCost c = cost("ConvTranspose", {tensor({1, 8, 4, 4}), weight({8, 3, 2, 2})}, {tensor({1, 3, 8, 8})},
                    {{"strides", ints({2, 2})}});
  EXPECT_DOUBLE_EQ(c.macs, 16 * 8 * 3 * 4);
  EXPECT_DOUBLE_EQ(c.needed_flops, c.flops);
}

TEST(Convolution, TransposedNeedsNoTapThatPaddingCutsOff) {
  // 3 inputs, kernel 3, stride 2: full extent 7; padding 1 on each side leaves 5 and cuts 2 of the 9 products.
  NodeCost c = cost("ConvTranspose", {tensor({1, 1, 3}), weight({1, 1, 3})}, {tensor({1, 1, 5})},
                    {{"strides", ints({2})}, {"pads", ints({1, 1})}});
  EXPECT_DOUBLE_EQ(c.macs, 9);
  EXPECT_DOUBLE_EQ(c.needed_flops, 2 * 7);
}

TEST(Convolution, IntegerFormsComputeInInt8) {
  Operand x = tensor({1, 4, 4, 4}, DataType::kUint8), w = weight({2, 4, 1, 1}, DataType::kInt8);
  Operand y = tensor({1, 2, 4, 4}, DataType::kInt32);
  NodeCost integer = cost("ConvInteger", {x, w}, {y});
  EXPECT_EQ(integer.precision, Precision::kInt8);
  EXPECT_DOUBLE_EQ(integer.macs, 2 * 16 * 4);
  EXPECT_DOUBLE_EQ(integer.bytes_read, 64 + 8);

  Operand scale = weight({}), zero = weight({}, DataType::kUint8);
  NodeCost linear =
      cost("QLinearConv", {x, scale, zero, w, scale, zero, scale, zero}, {tensor({1, 2, 4, 4}, DataType::kUint8)});
  EXPECT_EQ(linear.precision, Precision::kInt8);
  EXPECT_DOUBLE_EQ(linear.macs, 2 * 16 * 4);
  EXPECT_DOUBLE_EQ(linear.flops, 2 * linear.macs + 3 * 32);  // scale, round, shift
  EXPECT_EQ(linear.parameters, 8);
}

TEST(Convolution, FusedFormsAddTheirActivationAndSum) {
  std::vector<Operand> inputs = {tensor({1, 4, 4, 4}), weight({8, 4, 1, 1}), weight({8}), tensor({1, 8, 4, 4})};
  Attributes relu = {{"activation", std::string("Relu")}};
  NodeCost fused = cost("FusedConv", inputs, {tensor({1, 8, 4, 4})}, relu, "com.microsoft");
  EXPECT_DOUBLE_EQ(fused.flops, 2 * 8 * 16 * 4 + 3 * 8 * 16);  // bias, sum, relu
  NodeCost blocked = cost("Conv", inputs, {tensor({1, 8, 4, 4})}, relu, "com.microsoft.nchwc");
  EXPECT_DOUBLE_EQ(blocked.flops, fused.flops);
}

TEST(Convolution, WithUnknownShapeIsALowerBound) {
  NodeCost c = cost("Conv", {tensor({-1, 3, 8, 8}), weight({4, 3, 1, 1})}, {tensor({-1, 4, 8, 8})});
  EXPECT_FALSE(c.shapes_known);
  EXPECT_DOUBLE_EQ(c.flops, 0);
  EXPECT_DOUBLE_EQ(c.bytes_read, 4 * 12);
}

TEST(Convolution, SurvivesShapesThatContradictEachOther) {
  EXPECT_FALSE(cost("Conv", {tensor({1, 3}), weight({4, 3, 1, 1})}, {tensor({1, 4, 8, 8})}).shapes_known);
  EXPECT_NO_FATAL_FAILURE(cost("Conv", {tensor({1, 3, 8, 8})}, {}));
  Attributes hostile = {{"strides", ints({0, -1})}, {"dilations", ints({0, int64_t{1} << 62})}, {"pads", ints({-9})}};
  EXPECT_DOUBLE_EQ(
      cost("Conv", {tensor({1, 3, 8, 8}), weight({4, 3, 3, 3})}, {tensor({1, 4, 8, 8})}, hostile).needed_flops, 0);
}

}  // namespace
}  // namespace ridge::cost::testing
