#include "lab/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "lab/workload.h"

namespace ridge::lab {
namespace {

constexpr size_t kSide = 256, kKnownRows = 64;

// A product of which the reference has the first rows only, as those of a GPU's size.
Case product_case(double tolerance) {
  Case work;
  work.title = "product";
  const std::vector<float> a = coarse_values(kSide * kSide, 3), b = coarse_values(kSide * kSide, 5);
  work.buffers = {a, b, std::vector<float>(kSide * kSide)};
  work.output = 2;
  work.expected = {reference_of(product_of(a, b, kSide, kKnownRows))};
  work.sums = row_sums_of(a, b, kSide);
  work.tolerance = tolerance;
  work.variants.emplace_back().name = "ours";
  return work;
}

// Computes all of it, each value off by `error` of it, and one by `wrong` more.
class ProductWithAWrongValue : public PreparedCase {
 public:
  ProductWithAWrongValue(const Case& work, double error, size_t row, float wrong)
      : product_(product_of(work.buffers[0], work.buffers[1], kSide, kSide)) {
    for (size_t i = 0; i < product_.size(); ++i) product_[i] *= static_cast<float>(1 + (i % 3 == 0 ? error : -error));
    product_[row * kSide + 17] += wrong;
  }
  Result<double> seconds(const Variant&, int) override { return 0.001; }
  Status put(size_t, std::span<const float>) override { return {}; }
  Status get(size_t, std::span<float> content) override {
    std::ranges::copy(product_, content.begin());
    return {};
  }

 private:
  std::vector<float> product_;
};

Status check_with(double tolerance, double error, size_t row, float wrong) {
  const Case work = product_case(tolerance);
  ProductWithAWrongValue device(work, error, row, wrong);
  return check(device, work);
}

// Row 67 is of the second warp group's (kernels/matmul_hopper.cu), the last of the last block's; 3 is half of what a
// value is.
TEST(Check, FindsAWrongValueInARowThatNoReferenceComputes) {
  for (const double tolerance : {1e-5, 1e-3})
    for (const size_t row : {size_t{67}, kSide - 1}) {
      const Status wrong = check_with(tolerance, 0, row, 3);
      ASSERT_FALSE(wrong) << row << " ± " << tolerance;
      EXPECT_NE(wrong.error().message.find("row " + std::to_string(row) + " is wrong"), std::string::npos)
          << wrong.error().message;
    }
  EXPECT_FALSE(check_with(1e-5, 0, kSide - 1, std::numeric_limits<float>::quiet_NaN()));
}

TEST(Check, AllowsAllValuesTheirOwnRounding) {
  for (const double tolerance : {1e-5, 1e-3}) {
    const Status right = check_with(tolerance, 0.9 * tolerance, 0, 0);
    EXPECT_TRUE(right) << right.error().message;
  }
}

TEST(Workload, SumsOfRowsAreThoseOfTheWholeProduct) {
  const std::vector<float> a = random_values(32 * 32, 1), b = random_values(32 * 32, 2), c = product_of(a, b, 32, 32);
  const RowSums sums = row_sums_of(a, b, 32);
  ASSERT_EQ(sums.expected.size(), 32u);
  EXPECT_EQ(std::ranges::count(sums.weights, 1) + std::ranges::count(sums.weights, -1), 32);
  EXPECT_GT(std::ranges::count(sums.weights, 1), 4);
  EXPECT_GT(std::ranges::count(sums.weights, -1), 4);
  for (size_t row = 0; row < 32; ++row) {
    double sum = 0;
    for (size_t column = 0; column < 32; ++column) sum += c[row * 32 + column] * sums.weights[column];
    EXPECT_NEAR(sum, sums.expected[row], 1e-4) << row;
  }
}

}  // namespace
}  // namespace ridge::lab
