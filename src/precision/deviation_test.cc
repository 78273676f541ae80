#include "precision/deviation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace ridge::precision {
namespace {

template <typename T>
TensorView view(DataType type, const Shape& shape, const std::vector<T>& values) {
  return {type, shape, std::as_bytes(std::span(values))};
}

TEST(Deviation, OfEqualOutputsIsZero) {
  std::vector<float> values{1, -2, 3, -1, std::numeric_limits<float>::infinity(), 0};
  DeviationMeter meter;
  ASSERT_TRUE(meter.add(view(DataType::kFp32, {2, 3}, values), view(DataType::kFp32, {2, 3}, values)));
  EXPECT_EQ(meter.result().max_abs, 0);
  EXPECT_EQ(meter.result().top1_agreement, 1);
}

TEST(Deviation, OfOutputsThatAreNoNumbersIsNoAgreement) {
  std::vector<float> values{1, NAN, 3, INFINITY, NAN, NAN};
  DeviationMeter meter;
  EXPECT_EQ(not_finite_text(meter.result()), "");
  ASSERT_TRUE(meter.add(view(DataType::kFp32, {2, 3}, values), view(DataType::kFp32, {2, 3}, values)));
  const Deviation deviation = meter.result();
  EXPECT_EQ(deviation.elements, 6);
  EXPECT_EQ(deviation.not_finite, 4);
  EXPECT_EQ(deviation.top1_agreement, 0);
  EXPECT_EQ(not_finite_text(deviation), ", 4 of 6 values are NaN or infinite");
}

TEST(Deviation, MatchesAWorkedExample) {
  std::vector<float> reference{3, 4, 0, 0};
  std::vector<float> other{4, 3, 0, 1};
  DeviationMeter meter;
  ASSERT_TRUE(meter.add(view(DataType::kFp32, {2, 2}, reference), view(DataType::kFp32, {2, 2}, other)));
  Deviation deviation = meter.result();
  EXPECT_DOUBLE_EQ(deviation.max_abs, 1);
  EXPECT_DOUBLE_EQ(deviation.relative_l2, std::sqrt(3.0) / 5);
  EXPECT_DOUBLE_EQ(deviation.cosine, 24 / (5 * std::sqrt(26.0)));
  EXPECT_DOUBLE_EQ(deviation.top1_agreement, 0);
}

TEST(Deviation, ReadsHalfPrecision) {
  std::vector<uint16_t> half{0x3C00, 0xC000, 0x0001, 0x7BFF};  // 1, -2, 2^-24, 65504 (IEEE 754 binary16)
  std::vector<uint16_t> zero(4, 0);
  DeviationMeter meter;
  ASSERT_TRUE(meter.add(view(DataType::kFp16, {1, 4}, zero), view(DataType::kFp16, {1, 4}, half)));
  EXPECT_EQ(meter.result().max_abs, 65504);
  DeviationMeter brain;
  std::vector<uint16_t> bf16{0x3F80, 0xC040};  // 1, -3
  ASSERT_TRUE(brain.add(view(DataType::kBf16, {2}, std::vector<uint16_t>{0, 0}), view(DataType::kBf16, {2}, bf16)));
  EXPECT_EQ(brain.result().max_abs, 3);
}

TEST(Deviation, OneSidedNanIsInfinite) {
  std::vector<float> bad{std::nanf("")};
  std::vector<float> good{1};
  DeviationMeter meter;
  ASSERT_TRUE(meter.add(view(DataType::kFp32, {1}, good), view(DataType::kFp32, {1}, bad)));
  EXPECT_TRUE(std::isinf(meter.result().max_abs));
}

TEST(Deviation, DifferentShapesCannotBeCompared) {
  std::vector<float> values{1, 2};
  DeviationMeter meter;
  Status added = meter.add(view(DataType::kFp32, {1, 2}, values), view(DataType::kFp32, {2, 1}, values));
  ASSERT_FALSE(added);
  EXPECT_NE(added.error().message.find("[1,2]"), std::string::npos) << added.error().message;
}

}  // namespace
}  // namespace ridge::precision
