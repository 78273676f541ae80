#include "precision/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace ridge::precision {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Half, FitTellsWhatIsLost) {
  const float most = std::numeric_limits<float>::max();
  const HalfFit fit = fit_of({0, 1, 1e-9F, -7e4F, -most, kInfinity}, Precision::kFp16);
  EXPECT_EQ(fit.nonzero, 5);
  EXPECT_EQ(fit.lost, 1);
  EXPECT_EQ(fit.too_large, 1);
  EXPECT_EQ(fit.near_infinite, 1);
  EXPECT_EQ(fit_of({1e-9F, -7e4F}, Precision::kBf16).lost, 0);
  EXPECT_EQ(fit_of({1e-9F, -7e4F}, Precision::kBf16).too_large, 0);
}

TEST(Half, StandInsForInfinityBecomeTheLargestFiniteValue) {
  const std::string bytes = half_bytes({-std::numeric_limits<float>::max(), 1}, Precision::kFp16);
  uint16_t halves[2];
  std::memcpy(halves, bytes.data(), sizeof halves);
  EXPECT_EQ(halves[0], 0xFBFF);
  EXPECT_EQ(halves[1], 0x3C00);
}

}  // namespace
}  // namespace ridge::precision
