#include "serve/classification.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace ridge::serve {
namespace {

template <typename T>
std::vector<std::string> top(DataType type, const std::vector<T>& values, size_t k,
                             const std::vector<std::string>& labels = {}) {
  std::vector<std::byte> block;
  size_t count = append_top_classes(type, std::as_bytes(std::span(values)), k, labels, block);
  EXPECT_TRUE(check_bytes_block(block, static_cast<int64_t>(count)).ok());
  std::vector<std::string> texts;
  for (size_t at = 0; at < block.size();) {
    uint32_t length = 0;
    std::memcpy(&length, block.data() + at, sizeof length);
    texts.emplace_back(reinterpret_cast<const char*>(block.data()) + at + sizeof length, length);
    at += sizeof length + length;
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(Classification, FloatsArePrintedWithSixDecimals) {
  EXPECT_EQ(top<float>(DataType::kFp32, {0.25f, 1.5f, -2.0f}, 2), (Texts{"1.500000:1", "0.250000:0"}));
  EXPECT_EQ(top<double>(DataType::kFp64, {1e10, 0.1}, 1), (Texts{"10000000000.000000:0"}));
}

TEST(Classification, IntegersArePrintedPlain) {
  EXPECT_EQ(top<int8_t>(DataType::kInt8, {-1, 7, -128}, 3), (Texts{"7:1", "-1:0", "-128:2"}));
  EXPECT_EQ(top<uint64_t>(DataType::kUint64, {1, std::numeric_limits<uint64_t>::max()}, 1),
            (Texts{"18446744073709551615:1"}));
}

TEST(Classification, LabelsFollowWhereThereAreAny) {
  EXPECT_EQ(top<int32_t>(DataType::kInt32, {1, 2, 3}, 3, {"cat", ""}), (Texts{"3:2", "2:1", "1:0:cat"}));
}

TEST(Classification, KIsCutToTheNumberOfValues) {
  EXPECT_EQ(top<float>(DataType::kFp32, {1, 2}, 10).size(), 2u);
  EXPECT_TRUE(top<float>(DataType::kFp32, {}, 10).empty());
}

TEST(Classification, OfEqualValuesTheFirstIndexComesFirstAndNaNLast) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(top<float>(DataType::kFp32, {nan, 1, 1, -1}, 4),
            (Texts{"1.000000:1", "1.000000:2", "-1.000000:3", "nan:0"}));
}

TEST(Classification, KnowsWhatCannotBeClassified) {
  for (DataType type : {DataType::kBytes, DataType::kBool, DataType::kFp16, DataType::kBf16})
    EXPECT_FALSE(can_classify(type));
  EXPECT_TRUE(can_classify(DataType::kUint16));
}

}  // namespace
}  // namespace ridge::serve
