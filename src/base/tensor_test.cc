#include "base/tensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace ridge {
namespace {

std::string block_of(std::initializer_list<std::string> elements) {
  std::string block;
  for (const std::string& element : elements) {
    auto length = static_cast<uint32_t>(element.size());
    block.append(reinterpret_cast<const char*>(&length), sizeof length);
    block += element;
  }
  return block;
}

std::span<const std::byte> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

TEST(DataType, NamesRoundTripAndOnlyExactNamesMatch) {
  for (int i = 1; i <= static_cast<int>(DataType::kBf16); ++i) {
    auto type = static_cast<DataType>(i);
    EXPECT_EQ(data_type_from_name(data_type_name(type)), type);
  }
  for (const char* wrong : {"fp32", "TYPE_FP32", "FLOAT", "", "INVALID"})
    EXPECT_EQ(data_type_from_name(wrong), DataType::kInvalid) << wrong;
}

TEST(ElementCount, MultipliesAndRefusesNegativeOrOverflowing) {
  EXPECT_EQ(element_count(Shape{}), 1);
  EXPECT_EQ(element_count(Shape{2, 3, 4}), 24);
  EXPECT_EQ(element_count(Shape{5, 0, 7}), 0);
  EXPECT_EQ(element_count(Shape{2, -1}), std::nullopt);
  EXPECT_EQ(element_count(Shape{int64_t{1} << 32, int64_t{1} << 32}), std::nullopt);
}

TEST(ElementCount, NegativeDimensionIsRefusedEvenBesideZero) { EXPECT_EQ(element_count(Shape{0, -1}), std::nullopt); }

TEST(ByteSize, CountsElementsTimesSizeAndRefusesOverflow) {
  EXPECT_EQ(byte_size(DataType::kFp16, Shape{2, 3}), 12u);
  EXPECT_EQ(byte_size(DataType::kFp64, Shape{std::numeric_limits<int64_t>::max()}), std::nullopt);
  EXPECT_EQ(byte_size(DataType::kBytes, Shape{1}), std::nullopt);
}

TEST(BytesBlock, AcceptsExactlyTheStatedElements) {
  std::string block = block_of({"", "a", std::string("\0b", 2)});
  EXPECT_TRUE(check_bytes_block(as_bytes(block), 3).ok());
  EXPECT_TRUE(check_bytes_block({}, 0).ok());
}

TEST(BytesBlock, RefusesTooFewTooManyAndTruncated) {
  std::string block = block_of({"abc", "d"});
  EXPECT_FALSE(check_bytes_block(as_bytes(block), 1).ok());
  EXPECT_FALSE(check_bytes_block(as_bytes(block), 3).ok());
  for (size_t cut = 1; cut < block.size(); ++cut)
    EXPECT_FALSE(check_bytes_block(as_bytes(block).first(block.size() - cut), 2).ok()) << cut;
}

TEST(Buffer, IsAlignedAndKeepsItsSize) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{64}, size_t{1000}}) {
    Buffer buffer(size);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
    std::memset(buffer.data(), 1, size);
  }
}

}  // namespace
}  // namespace ridge
