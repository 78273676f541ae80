#include "precision/affine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ridge::precision {
namespace {

using testing::ElementsAre;
using testing::FloatEq;

TEST(Affine, Uint8CoversTheRangeAndHasAnExactZero) {
  const Affine affine = affine_uint8({-1, 3});
  EXPECT_FLOAT_EQ(affine.scale, 4.0F / 255);
  EXPECT_EQ(affine.zero_point, 64);  // 255 / 4 = 63.75
}

TEST(Affine, RangeIsWidenedToContainZero) {
  EXPECT_EQ(affine_uint8({2, 5.1}).zero_point, 0);
  EXPECT_FLOAT_EQ(affine_uint8({2, 5.1}).scale, 0.02F);
  EXPECT_EQ(affine_uint8({-5.1, -2}).zero_point, 255);
}

TEST(Affine, TensorOfZerosHasAUsableScale) {
  EXPECT_EQ(affine_uint8({0, 0}).scale, 1);
  EXPECT_EQ(affine_uint8({0, 1e-40}).scale, 1);
  EXPECT_EQ(symmetric_int8({0, 0}).scale, 1);
}

TEST(Affine, SymmetricTakesTheLargerSide) {
  EXPECT_FLOAT_EQ(symmetric_int8({-4, 3}).scale, 4.0F / 127);
  EXPECT_EQ(symmetric_int8({-4, 3}).zero_point, 0);
}

TEST(Int8Weights, EachChannelUsesAllOfItsRange) {
  // [2 channels, 2 values]: 1, -2 and 0.5, 0.25; 1 / (2 / 127) = 63.5, which rounds to the even 64.
  const Int8Weights weights = quantise_int8({1, -2, 0.5, 0.25}, {.outer = 1, .channels = 2, .inner = 2}, false);
  EXPECT_THAT(weights.values, ElementsAre(64, -127, 127, 64));
  EXPECT_THAT(weights.scales, ElementsAre(FloatEq(2.0F / 127), FloatEq(0.5F / 127)));
}

TEST(Int8Weights, ChannelsMayLieInnermost) {
  // [2 values, 2 channels]: columns 1, 0.5 and -2, 0.25.
  const Int8Weights weights = quantise_int8({1, -2, 0.5, 0.25}, {.outer = 2, .channels = 2, .inner = 1}, false);
  EXPECT_THAT(weights.values, ElementsAre(127, -127, 64, 16));
  EXPECT_THAT(weights.scales, ElementsAre(FloatEq(1.0F / 127), FloatEq(2.0F / 127)));
}

TEST(Int8Weights, ReducedRangeUsesSevenBits) {
  const Int8Weights weights = quantise_int8({1.5, -2}, {.outer = 1, .channels = 1, .inner = 2}, true);
  EXPECT_THAT(weights.values, ElementsAre(47, -63));  // 47.25
}

TEST(Int8Weights, ScaleIsNotBelowTheLeast) {
  const Int8Weights weights = quantise_int8({1, -2}, {.outer = 1, .channels = 1, .inner = 2}, false, {0.5F});
  EXPECT_THAT(weights.values, ElementsAre(2, -4));
  EXPECT_THAT(weights.scales, ElementsAre(0.5F));
}

TEST(Int32Bias, RoundsAndSaturates) {
  EXPECT_THAT(quantise_int32({1, -0.26F, 1e30F}, {0.5F, 0.1F, 1.0F}),
              ElementsAre(2, -3, std::numeric_limits<int32_t>::max()));
}

TEST(BlockWeights, LargestMagnitudeOfABlockIsExact) {
  // Two columns of 3 rows in blocks of 2: column 0 is 8, -4 | 1, column 1 is -1.6, 0 | 0.
  const BlockWeights weights = quantise_blocks({8, -1.6F, -4, 0, 1, 0}, 3, 2, 4, 2);
  EXPECT_EQ(weights.blocks, 2);
  EXPECT_THAT(weights.scales, ElementsAre(-1, FloatEq(-0.125F), FloatEq(0.2F), 1));
  EXPECT_THAT(weights.values, ElementsAre(0, 12, 0, 8, 0, 8, 8, 8));
}

TEST(Values, NotANumberAndInfinityAreNotFinite) {
  EXPECT_TRUE(all_finite({1, -2}));
  EXPECT_FALSE(all_finite({1, std::nanf("")}));
  EXPECT_FALSE(all_finite({std::numeric_limits<float>::infinity()}));
}

}  // namespace
}  // namespace ridge::precision
