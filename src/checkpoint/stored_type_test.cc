#include "checkpoint/stored_type.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace ridge::checkpoint {
namespace {

struct Decoded {
  uint32_t type;
  std::vector<size_t> scales;  // where a block has FP16 scales, which are 1.5 and 0.75 here
  std::array<float, 4> some;   // values 0, 1, half and last
  double weighted_sum;         // of number · value, numbers from 1
};

// Block bytes 37 · i + 11; values by the Python package gguf 0.19.0 (gguf.quants.dequantize).
TEST(StoredType, DecodesBlocksAsGgmlDoes) {
  const Decoded cases[] = {{2, {0}, {-4.5F, 3.0F, -4.5F, 0.0F}, -777},
                           {8, {0}, {127.5F, 183.0F, -136.5F, -72.0F}, -12120},
                           {12, {0, 2}, {473.25F, -38.25F, 634.5F, 72.75F}, 11359260},
                           {13, {0, 2}, {1217.25F, -38.25F, 1570.5F, 162.75F}, 24041172},
                           {14, {208}, {-2146.5F, 2544.0F, -526.5F, -90.0F}, 1176630}};
  for (const Decoded& expected : cases) {
    const StoredType& type = *stored_type(expected.type);
    std::vector<std::byte> block(type.block_bytes);
    for (size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::byte>(37 * i + 11);
    for (size_t i = 0; i < expected.scales.size(); ++i) {
      const uint16_t scale = i == 0 ? 0x3E00 : 0x3A00;
      std::memcpy(block.data() + expected.scales[i], &scale, sizeof scale);
    }
    std::vector<float> values(static_cast<size_t>(type.block_values));
    read_row({&type, {type.block_values}, block}, 0, values);
    EXPECT_EQ((std::array{values[0], values[1], values[values.size() / 2], values.back()}), expected.some) << type.name;
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) sum += static_cast<double>(i + 1) * double{values[i]};
    EXPECT_EQ(sum, expected.weighted_sum) << type.name;
  }
}

TEST(StoredType, PutsHalvesOfHeadsThatWereStoredInTurnsBehindEachOther) {
  const float stored[] = {0, 4, 1, 5, 2, 6, 3, 7, 10, 14, 11, 15, 12, 16, 13, 17};  // two heads of eight
  Weight vector{stored_type(DataType::kFp32), {16}, std::as_bytes(std::span(stored)), 2};
  std::vector<float> values(16);
  read_row(vector, 0, values);
  EXPECT_EQ(values, (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17}));
  vector.shape = {16, 1};
  read_row(vector, 5, std::span(values).first(1));
  EXPECT_EQ(values[0], 5);
}

TEST(StoredType, SizesAreOfWholeBlocks) {
  EXPECT_EQ(stored_bytes(*stored_type(8U), {3, 64}), 3 * 68U);
  EXPECT_EQ(stored_bytes(*stored_type(8U), {64, 3}), std::nullopt);
  EXPECT_EQ(stored_bytes(*stored_type(0U), {int64_t{1} << 61, 4}), std::nullopt);
  EXPECT_EQ(stored_type(4U), nullptr) << "Q4_2, which ggml has no longer";
  EXPECT_EQ(stored_type(DataType::kInt8), nullptr);
}

}  // namespace
}  // namespace ridge::checkpoint
