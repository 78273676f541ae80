#include "engine/openvino/matrix_form.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <tuple>
#include <vector>

#include "base/half.h"
#include "base/random.h"

namespace ridge::engine::openvino {
namespace {

constexpr int64_t kRows = 37, kColumns = 96;

std::vector<float> some_values() {
  std::vector<float> values(kRows * kColumns);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = (static_cast<float>(split_mix(kGoldenGamma * (i + 1)) >> 40) * 0x1p-23F - 1) *
                static_cast<float>(i / kColumns + 1);
  std::fill_n(values.begin() + kColumns, kColumns, 0.0F);  // a row of zeros
  return values;
}

checkpoint::Weight view_of(DataType type, const void* data, size_t bytes) {
  return {checkpoint::stored_type(type), {kRows, kColumns}, {static_cast<const std::byte*>(data), bytes}};
}

template <typename T>
std::vector<T> copied(const Buffer& buffer) {
  std::vector<T> values(buffer.size() / sizeof(T));
  std::memcpy(values.data(), buffer.data(), buffer.size());
  return values;
}

TEST(MatrixForm, Int8IsWithinHalfAStepOfEachValue) {
  const std::vector<float> values = some_values();
  const FormedMatrix formed =
      form_matrix(view_of(DataType::kFp32, values.data(), values.size() * 4), WeightFormat::kInt8, 3);
  const auto integers = copied<int8_t>(formed.values);
  const auto scales = copied<float>(formed.scales);
  ASSERT_EQ(integers.size(), values.size());
  ASSERT_EQ(scales.size(), static_cast<size_t>(kRows));
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(integers[i] * scales[i / kColumns], values[i], scales[i / kColumns] * 0.5001F);
  for (size_t row = 2; row < kRows; ++row) {
    const auto begin = integers.begin() + static_cast<std::ptrdiff_t>(row * kColumns);
    EXPECT_EQ(std::abs(*std::max_element(begin, begin + kColumns,
                                         [](int8_t a, int8_t b) { return std::abs(a) < std::abs(b); })),
              127);
  }
}

TEST(MatrixForm, Int4HoldsTheFirstOfTwoValuesInTheLowerHalf) {
  const std::vector<float> values = some_values();
  const FormedMatrix formed =
      form_matrix(view_of(DataType::kFp32, values.data(), values.size() * 4), WeightFormat::kInt4, 2);
  const auto bytes = copied<uint8_t>(formed.values);
  const auto scales = copied<float>(formed.scales);
  ASSERT_EQ(bytes.size(), values.size() / 2);
  ASSERT_EQ(scales.size(), values.size() / kInt4Group);
  for (size_t i = 0; i < values.size(); ++i) {
    const int integer = (i % 2 == 0 ? bytes[i / 2] & 15 : bytes[i / 2] >> 4) - kInt4Zero;
    const float scale = scales[i / kInt4Group], step = std::abs(scale);
    // A value opposite to its group's largest may end at 7 steps instead of 8.
    EXPECT_NEAR(static_cast<float>(integer) * scale, values[i], step * (integer == 7 ? 1.0001F : 0.5001F)) << i;
  }
}

TEST(MatrixForm, ReadsHalvesAtAnyAddressAndWritesThem) {
  const std::vector<float> values = some_values();
  std::vector<std::byte> fp16(values.size() * 2 + 1), bf16(values.size() * 2 + 1);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t a = to_fp16(values[i]), b = to_bf16(values[i]);
    std::memcpy(fp16.data() + 1 + 2 * i, &a, 2);
    std::memcpy(bf16.data() + 1 + 2 * i, &b, 2);
  }
  const auto from_half = copied<float>(
      form_matrix(view_of(DataType::kFp16, fp16.data() + 1, values.size() * 2), WeightFormat::kFp32, 1).values);
  const auto wide = copied<float>(
      form_matrix(view_of(DataType::kBf16, bf16.data() + 1, values.size() * 2), WeightFormat::kFp32, 1).values);
  const auto again = copied<uint16_t>(
      form_matrix(view_of(DataType::kFp32, values.data(), values.size() * 4), WeightFormat::kBf16, 1).values);
  const auto kept = copied<uint16_t>(
      form_matrix(view_of(DataType::kBf16, bf16.data() + 1, values.size() * 2), WeightFormat::kBf16, 2).values);
  EXPECT_EQ(kept, again);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(from_half[i], values[i], std::abs(values[i]) * 0x1p-11F + 0x1p-25F);
    EXPECT_NEAR(wide[i], values[i], std::abs(values[i]) * 0x1p-8F);
    EXPECT_EQ(from_bf16(again[i]), wide[i]);
  }
}

// Q8_0 and Q4_0 of GGUF.
TEST(MatrixForm, TakesGroupsOfTheFileAsTheyAre) {
  for (const auto& [number, form, bits] : {std::tuple{8U, WeightFormat::kInt8, 8}, {2U, WeightFormat::kInt4, 4}}) {
    const checkpoint::StoredType& type = *checkpoint::stored_type(number);
    std::vector<std::byte> stored(kRows * kColumns / 32 * type.block_bytes);
    for (size_t i = 0; i < stored.size(); ++i) stored[i] = static_cast<std::byte>(split_mix(i) >> 32);
    for (size_t block = 0; block < stored.size() / type.block_bytes; ++block) {
      const uint16_t scale = to_fp16(0.01 * static_cast<double>(block) - 0.3);
      std::memcpy(stored.data() + block * type.block_bytes, &scale, 2);
    }
    checkpoint::Weight matrix{&type, {kRows, kColumns}, stored};
    for (const int64_t heads : {0, 1}) {
      if (heads == 1)
        matrix.shape = {kRows - 1, kColumns},
        matrix.data = std::span(stored).first(36 * kColumns / 32 * type.block_bytes);
      matrix.interleaved_heads = heads;
      const FormedMatrix formed = form_matrix(matrix, form, 2);
      ASSERT_EQ(formed.group, 32);
      const auto scales = copied<float>(formed.scales);
      const auto bytes = copied<uint8_t>(formed.values);
      std::vector<float> row(kColumns);
      for (int64_t i = 0; i < matrix.shape[0] * kColumns; ++i) {
        const auto at = static_cast<size_t>(i);
        if (i % kColumns == 0) checkpoint::read_row(matrix, i / kColumns, row);
        const int integer = bits == 8 ? static_cast<int8_t>(bytes[at])
                                      : (i % 2 == 0 ? bytes[at / 2] & 15 : bytes[at / 2] >> 4) - kInt4Zero;
        ASSERT_EQ(static_cast<float>(integer) * scales[at / 32], row[at % kColumns]) << bits << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace ridge::engine::openvino
