#include "limits/accelerator/gemm.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

namespace ridge::limits::accelerator {
namespace {

gpu::DeviceFacts gpu_with(int64_t units, int64_t free_bytes) {
  gpu::DeviceFacts facts;
  facts.compute_units = units;
  facts.largest_buffer_bytes = free_bytes / 4;
  return facts;
}

// H100: 132 multiprocessors; 4 waves of 132 tiles of 256 · 128 are 17.3 million numbers, a square of 4160.
TEST(GemmProblems, FillTheGpuWithWholeWaves) {
  std::vector<gpu::GemmProblem> problems = gemm_problems(gpu_with(132, int64_t{64} << 30), Precision::kFp16);
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[0].m, 4352);
  EXPECT_EQ(problems[1].m, 8448);
  EXPECT_EQ(problems[2].m, 16640);
  EXPECT_EQ(gemm_problems(gpu_with(132, int64_t{64} << 30), Precision::kFp32)[0].m, 2304);
}

// A GeForce multiplies FP64 at 1/64 of FP32: 8448³ would take a second. An H100 at half.
TEST(GemmProblems, AreSmallWhereTheTypeIsThereForCompatibilityOnly) {
  gpu::DeviceFacts gpu = gpu_with(128, int64_t{64} << 30);
  gpu.capability = "8.9";
  EXPECT_EQ(gemm_problems(gpu, Precision::kFp64).size(), 1u);
  gpu.capability = "9.0";
  EXPECT_EQ(gemm_problems(gpu, Precision::kFp64).size(), 3u);
}

TEST(GemmProblems, LeaveHalfOfTheMemoryFree) {
  EXPECT_EQ(gemm_problems(gpu_with(132, int64_t{4} << 30), Precision::kFp16).size(), 2u)
      << "3 · 8448² · 8 bytes: 1.7 GB";
  EXPECT_TRUE(gemm_problems(gpu_with(132, 1 << 20), Precision::kFp16).empty());
}

std::vector<std::byte> bytes_of(auto value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// IEEE 754-2019: binary16 0x3555 is 0.333251953125, 0xC000 −2, 0x0001 2⁻²⁴. "FP8 Formats for Deep Learning", table 1:
// E4M3 0x7E is 448, 0x38 is 1, 0x01 is 2⁻⁹.
TEST(ValueAt, ReadsEveryTypeAsItsStandardHasIt) {
  EXPECT_EQ(value_at(Precision::kFp16, bytes_of(uint16_t{0x3555}), 0), 0.333251953125);
  EXPECT_EQ(value_at(Precision::kFp16, bytes_of(uint16_t{0xC000}), 0), -2);
  EXPECT_EQ(value_at(Precision::kFp16, bytes_of(uint16_t{0x0001}), 0), std::ldexp(1.0, -24));
  EXPECT_EQ(value_at(Precision::kBf16, bytes_of(uint16_t{0x3F80}), 0), 1);
  EXPECT_EQ(value_at(Precision::kBf16, bytes_of(uint16_t{0xC0A0}), 0), -5);
  EXPECT_EQ(value_at(Precision::kFp8, bytes_of(uint8_t{0x7E}), 0), 448);
  EXPECT_EQ(value_at(Precision::kFp8, bytes_of(uint16_t{0x3801}), 0), std::ldexp(1.0, -9));
  EXPECT_EQ(value_at(Precision::kFp8, bytes_of(uint16_t{0x3801}), 1), 1);
  EXPECT_EQ(value_at(Precision::kInt8, bytes_of(int8_t{-128}), 0), -128);
  EXPECT_EQ(value_at(Precision::kTf32, bytes_of(0.1F), 0), static_cast<double>(0.1F));
  EXPECT_EQ(value_at(Precision::kFp64, bytes_of(0.1), 0), 0.1);
}

// Like a tensor core that adds 32 products at a time and then keeps 14 bits.
double sum_of_14_bits(const std::vector<double>& products) {
  double sum = 0;
  for (size_t i = 0; i < products.size(); i += 32) {
    int exponent = 0;
    const double fraction = std::frexp(std::accumulate(products.begin() + static_cast<std::ptrdiff_t>(i),
                                                       products.begin() + static_cast<std::ptrdiff_t>(i) + 32, sum),
                                       &exponent);
    sum = std::ldexp(std::trunc(std::ldexp(fraction, 14)), exponent - 14);
  }
  return sum;
}

TEST(SumTolerance, LetsShortSumsOfFp8PassButNoZeros) {
  constexpr int64_t kDepth = 16640;  // the largest product on an H100
  std::mt19937 random(1);
  auto factor = [&] { return (random() % 2 == 0 ? 1 : -1) * (0.5 + static_cast<double>(random() % 8) / 16); };
  for (int look = 0; look < 200; ++look) {
    std::vector<double> products(kDepth);
    for (double& one : products) one = factor() * factor();
    const double exact = std::accumulate(products.begin(), products.end(), 0.0);
    ASSERT_NEAR(sum_of_14_bits(products), exact, sum_tolerance(Precision::kFp8, kDepth));
  }
  EXPECT_LT(sum_tolerance(Precision::kFp8, kDepth), 0.56 * std::sqrt(kDepth) / 5);
}

TEST(RandomBits, AreNumbersFromOneHalfToOneOfEitherSign) {
  for (Precision precision :
       {Precision::kFp64, Precision::kFp32, Precision::kFp16, Precision::kBf16, Precision::kFp8}) {
    const RandomBits bits = random_bits_of(precision);
    for (uint32_t random : {0x00000000u, 0xFFFFFFFFu, 0x12345678u, 0x9ABCDEF0u}) {
      const std::vector<std::byte> values = bytes_of(
          std::array<uint32_t, 2>{(random & bits.keep_even) | bits.set_even, (random & bits.keep_odd) | bits.set_odd});
      EXPECT_GE(std::abs(value_at(precision, values, 0)), 0.5) << precision_name(precision);
      EXPECT_LT(std::abs(value_at(precision, values, 0)), 1) << precision_name(precision);
    }
  }
}

}  // namespace
}  // namespace ridge::limits::accelerator
