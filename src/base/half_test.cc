#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ridge {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(HalfType, Fp16RoundsToNearestEven) {
  EXPECT_EQ(to_fp16(1), 0x3C00);
  EXPECT_EQ(to_fp16(-2), 0xC000);
  EXPECT_EQ(to_fp16(1 + 0x1p-11F), 0x3C00);      // tie, even below
  EXPECT_EQ(to_fp16(1 + 3 * 0x1p-11F), 0x3C02);  // tie, even above
  EXPECT_EQ(to_fp16(65504), 0x7BFF);
  EXPECT_EQ(to_fp16(65519.9F), 0x7BFF);
  EXPECT_EQ(to_fp16(65520), 0x7C00);
  EXPECT_EQ(to_fp16(-kInfinity), 0xFC00);
  EXPECT_EQ(to_fp16(3e38F), 0x7C00);
  EXPECT_EQ(to_fp16(std::nanf("")) & 0x7C00, 0x7C00);
  EXPECT_NE(to_fp16(std::nanf("")) & 0x03FF, 0);
  EXPECT_EQ(to_fp16(1 + 0x1p-11 + 0x1p-40), 0x3C01);  // no tie: as FP32 first it would be one
}

TEST(HalfType, Fp16HasSubnormals) {
  EXPECT_EQ(to_fp16(0x1p-14F), 0x0400);
  EXPECT_EQ(to_fp16(0x1p-24F), 0x0001);
  EXPECT_EQ(to_fp16(0x1p-25F), 0x0000);
  EXPECT_EQ(to_fp16(-0x1.8p-24F), 0x8002);   // tie, even above
  EXPECT_EQ(to_fp16(0x1.FFFp-15F), 0x0400);  // rounds up into the normal numbers
}

TEST(HalfType, Bf16RoundsToNearestEven) {
  EXPECT_EQ(to_bf16(1), 0x3F80);
  EXPECT_EQ(to_bf16(1 + 0x1p-8F), 0x3F80);
  EXPECT_EQ(to_bf16(1 + 3 * 0x1p-8F), 0x3F82);
  EXPECT_EQ(to_bf16(kInfinity), 0x7F80);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_NE(to_bf16(std::nanf("")) & 0x7F, 0);
}

TEST(HalfType, EveryFp16ValueComesBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = from_fp16(half);
    if ((half & 0x7FFFU) > 0x7C00U)
      EXPECT_TRUE(std::isnan(value)) << half;
    else
      EXPECT_EQ(to_fp16(value), half);
  }
  EXPECT_EQ(from_fp16(0x0001), 0x1p-24F);
  EXPECT_EQ(from_fp16(0xFC00), -kInfinity);
  EXPECT_EQ(from_bf16(0x3F80), 1);
}

}  // namespace
}  // namespace ridge
