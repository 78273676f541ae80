#include "engine/openvino/packed_kernels.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/half.h"
#include "base/random.h"

namespace ridge::engine::openvino {
namespace {

std::vector<float> random_values(size_t count, uint64_t seed) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(split_mix(seed * kGoldenGamma + i) >> 40) * 0x1p-23F - 1;
  return values;
}

checkpoint::Weight plain(const std::vector<float>& values, int64_t rows, int64_t columns) {
  return {checkpoint::stored_type(DataType::kFp32), {rows, columns}, std::as_bytes(std::span(values))};
}

class EachPackedKernels : public testing::TestWithParam<const PackedKernels*> {
 protected:
  void SetUp() override {
    if (!GetParam()->runs_here()) GTEST_SKIP() << "this CPU has no " << GetParam()->name;
  }
  const PackedKernels& kernels_ = *GetParam();

  QuantisedRows quantised(const std::vector<float>& x, int64_t rows) const {
    QuantisedRows quantised(rows, static_cast<int64_t>(x.size()) / rows);
    for (int64_t row = 0; row < rows; ++row) kernels_.quantise(quantised, row, x.data() + row * quantised.columns);
    return quantised;
  }
};
std::string name_of(const testing::TestParamInfo<const PackedKernels*>& row) {
  std::string name = row.param->name;
  std::erase_if(name, [](unsigned char c) { return std::isalnum(c) == 0; });
  return name;
}
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EachPackedKernels);  // none for other CPUs than x86
INSTANTIATE_TEST_SUITE_P(, EachPackedKernels,
                         testing::ValuesIn(all_packed_kernels().begin(), all_packed_kernels().end()), name_of);

struct Size {
  WeightFormat form;
  int64_t rows, columns, tokens;
};

// Error that the form and the activations of 8 bits may cause in such a sum of products of uniform values.
double bound(const Size& size) {
  const double step = size.form == WeightFormat::kInt4 ? 1.0 / 8 : 1.0 / 127;
  return 6 * std::sqrt(static_cast<double>(size.columns) / 3) * std::hypot(step, 1.0 / 127) / std::sqrt(12.0);
}

TEST_P(EachPackedKernels, ProductsAreThoseOfTheMatrixInDoublePrecision) {
  for (const auto form : {WeightFormat::kInt8, WeightFormat::kInt4})
    for (const auto& [rows, columns] :
         {std::pair{70, 96}, {3, 32}, {200, 256}, {65, form == WeightFormat::kInt8 ? 45 : 160}})
      for (const int tokens : {1, 2, 3, 4, 5, 6, 7, 13}) {
        const Size size{form, rows, columns, tokens};
        const std::vector<float> weights = random_values(static_cast<size_t>(rows * columns), 1);
        const std::vector<float> x = random_values(static_cast<size_t>(tokens * columns), 2);
        const PackedMatrix matrix = pack_matrix(plain(weights, rows, columns), form, 2);
        const QuantisedRows rows_of_x = quantised(x, tokens);
        std::vector<float> result(static_cast<size_t>(tokens * rows) + 1, NAN);
        for (int64_t block = 0; block < matrix.blocks(); ++block)
          kernels_.multiply_int(matrix, block, rows_of_x, result.data(), nullptr);
        EXPECT_TRUE(std::isnan(result.back())) << "written behind the result";
        for (int64_t t = 0; t < tokens; ++t)
          for (int64_t row = 0; row < rows; ++row) {
            double sum = 0;
            for (int64_t c = 0; c < columns; ++c)
              sum += static_cast<double>(x[static_cast<size_t>(t * columns + c)]) *
                     static_cast<double>(weights[static_cast<size_t>(row * columns + c)]);
            ASSERT_NEAR(result[static_cast<size_t>(t * rows + row)], sum, bound(size))
                << rows << " x " << columns << ", token " << t << " of " << tokens << ", row " << row;
          }
      }
}

TEST_P(EachPackedKernels, WholeNumbersComeOutExactly) {
  // Largest values 127 of activations and INT8 rows, -8 of INT4's groups: all scales are 1.
  for (const auto form : {WeightFormat::kInt8, WeightFormat::kInt4}) {
    constexpr int64_t kRows = 80, kColumns = 96;
    std::vector<float> weights(kRows * kColumns), x(kColumns);
    const int64_t most = form == WeightFormat::kInt8 ? 127 : 8;
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i] = static_cast<float>(i % 32 == 0 ? -most : static_cast<int64_t>(split_mix(i) % 15) - 7);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(i % 32 == 5 ? 127 : static_cast<int64_t>(split_mix(i + 99) % 255) - 127);
    const PackedMatrix matrix = pack_matrix(plain(weights, kRows, kColumns), form, 1);
    const QuantisedRows rows_of_x = quantised(x, 1);
    std::vector<float> result(kRows, 3);
    for (int64_t block = 0; block < matrix.blocks(); ++block)
      kernels_.multiply_int(matrix, block, rows_of_x, result.data(), result.data());
    for (size_t row = 0; row < kRows; ++row) {
      float sum = 3;
      for (size_t c = 0; c < kColumns; ++c) sum += weights[row * kColumns + c] * x[c];
      EXPECT_EQ(result[row], sum) << "row " << row;
    }
  }
}

// Kernels that sum products of bytes in 16 bits must not leave them.
TEST_P(EachPackedKernels, TheLargestIntegersComeOutExactly) {
  for (const auto form : {WeightFormat::kInt8, WeightFormat::kInt4})
    for (const float weight : {-1.0F, 1.0F})
      for (size_t positive = 0; positive <= kInt4Group; ++positive)
        for (const size_t stride : {1, 5}) {
          // All -8 and all 7 but one -8; ±127. Activations: the first few are 127, of the columns in that stride, and
          // the others -127.
          const bool four = form == WeightFormat::kInt4;
          std::vector<float> weights(kPanelRows * kInt4Group, four ? (weight < 0 ? -8.0F : 7.0F) : 127 * weight),
              x(kInt4Group);
          for (size_t row = 0; four && row < kPanelRows; ++row) weights[row * kInt4Group + 31] = -8;
          for (size_t i = 0; i < x.size(); ++i) x[i * stride % x.size()] = i < positive ? 127 : -127;
          const PackedMatrix matrix = pack_matrix(plain(weights, kPanelRows, kInt4Group), form, 1);
          std::vector<float> result(kPanelRows);
          kernels_.multiply_int(matrix, 0, quantised(x, 1), result.data(), nullptr);
          float sum = 0;
          for (size_t i = 0; i < x.size(); ++i) sum += weights[i] * x[i];
          for (const float each : result)
            ASSERT_EQ(each, sum) << "weights " << weights[0] << ", " << positive << " positive";
        }
}

TEST_P(EachPackedKernels, WideProductsAreThoseOfTheRoundedMatrix) {
  for (const auto form : {WeightFormat::kBf16, WeightFormat::kFp32})
    for (const auto& [rows, columns] : {std::pair{70, 96}, {3, 32}, {200, 256}, {65, 45}}) {
      const std::vector<float> weights = random_values(static_cast<size_t>(rows * columns), 1);
      const auto rounded = [form](float value) {
        return form == WeightFormat::kFp32 ? value : from_bf16(to_bf16(value));
      };
      const PackedMatrix matrix = pack_matrix(plain(weights, rows, columns), form, 2);
      for (int tokens = 1; tokens <= 26; ++tokens) {
        const std::vector<float> x = random_values(static_cast<size_t>(tokens * columns), 2);
        const std::vector<float> beside = random_values(static_cast<size_t>(tokens * rows), 3);
        std::vector<float> result(static_cast<size_t>(tokens * rows) + 1, NAN);
        for (int64_t block = 0; block < matrix.blocks(); ++block)
          kernels_.multiply_wide(matrix, block, x.data(), tokens, result.data(), beside.data());
        EXPECT_TRUE(std::isnan(result.back())) << "written behind the result";
        for (size_t t = 0; t < static_cast<size_t>(tokens); ++t)
          for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
            double sum = beside[t * static_cast<size_t>(rows) + row];
            for (size_t c = 0; c < static_cast<size_t>(columns); ++c)
              sum += static_cast<double>(x[t * static_cast<size_t>(columns) + c]) *
                     static_cast<double>(rounded(weights[row * static_cast<size_t>(columns) + c]));
            ASSERT_NEAR(result[t * static_cast<size_t>(rows) + row], sum, 1e-4)
                << rows << " x " << columns << ", token " << t << " of " << tokens << ", row " << row;
          }
      }
    }
}

TEST_P(EachPackedKernels, GroupsThatAFileHasKeepTheirScales) {
  constexpr int64_t kRows = 70, kColumns = 96;
  constexpr uint32_t kQ8 = 8;  // ggml's Q8_0: an FP16 scale and 32 signed integers
  std::vector<std::byte> stored;
  std::vector<float> weights;
  for (uint64_t block = 0; block < kRows * kColumns / kInt4Group; ++block) {
    const float scale = std::ldexp(1.0F, static_cast<int>(block % 5) - 3);
    const uint16_t half = to_fp16(scale);
    stored.push_back(static_cast<std::byte>(half & 0xFF));
    stored.push_back(static_cast<std::byte>(half >> 8));
    for (uint64_t i = 0; i < kInt4Group; ++i) {
      const auto integer = static_cast<int8_t>(split_mix(block * kInt4Group + i) % 255 - 127);
      stored.push_back(static_cast<std::byte>(integer));
      weights.push_back(static_cast<float>(integer) * scale);
    }
  }
  const PackedMatrix matrix =
      pack_matrix({checkpoint::stored_type(kQ8), {kRows, kColumns}, stored}, WeightFormat::kInt8, 2);
  ASSERT_TRUE(matrix.grouped);
  for (const int tokens : {1, 5}) {
    std::vector<float> x(static_cast<size_t>(tokens * kColumns));
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(i % 32 == 5 ? 127 : static_cast<int64_t>(split_mix(i + 99) % 255) - 127);
    const QuantisedRows rows_of_x = quantised(x, tokens);
    std::vector<float> result(static_cast<size_t>(tokens * kRows));
    for (int64_t block = 0; block < matrix.blocks(); ++block)
      kernels_.multiply_int(matrix, block, rows_of_x, result.data(), nullptr);
    for (size_t t = 0; t < static_cast<size_t>(tokens); ++t)
      for (size_t row = 0; row < kRows; ++row) {
        float sum = 0;
        for (size_t c = 0; c < kColumns; ++c) sum += weights[row * kColumns + c] * x[t * kColumns + c];
        EXPECT_EQ(result[t * kRows + row], sum) << "token " << t << ", row " << row;
      }
  }
}

TEST_P(EachPackedKernels, WhatLiesBetweenProductsIsThatInDoublePrecision) {
  constexpr size_t kValues = 37;  // two registers and a part of one
  std::vector<float> x(kValues), weight(kValues), normed(kValues), gated(kValues);
  double squares = 0;
  for (size_t i = 0; i < kValues; ++i) {
    x[i] = 4 * (static_cast<float>(i) - 18);
    weight[i] = 0.5F + static_cast<float>(i) / 8;
    squares += static_cast<double>(x[i]) * x[i];
  }
  x[1] = -1e30F;
  gated = x;
  kernels_.gate(gated, weight.data());
  x[1] = 4 * (1.0F - 18);
  kernels_.normalise(x, weight.data(), 100, normed.data());
  const double root = std::sqrt(squares / kValues + 100);
  for (size_t i = 0; i < kValues; ++i) {
    const double expected = x[i] / root * weight[i], silu = x[i] / (1 + std::exp(-static_cast<double>(x[i])));
    EXPECT_NEAR(normed[i], expected, 1e-6 * std::abs(expected)) << i;
    EXPECT_NEAR(gated[i], i == 1 ? 0 : silu * weight[i], 1e-6 * std::abs(silu * weight[i])) << i;
  }
}

}  // namespace
}  // namespace ridge::engine::openvino
