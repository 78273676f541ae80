#include "measure/non_finite.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace ridge::measure {
namespace {

template <typename T>
std::string text_of(DataType type, std::vector<T> values) {
  const TensorSpec spec{"y", type, {}};
  const engine::Output output{type, {}, std::as_writable_bytes(std::span(values)), nullptr};
  return non_finite_text({&spec, 1}, {&output, 1});
}

TEST(NonFinite, ValuesAreCountedInEveryFloatingType) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(text_of<float>(DataType::kFp32, {1, 2}), "");
  EXPECT_EQ(text_of<float>(DataType::kFp32, {kNan, 2, kNan}), "output 'y': 2 of 3 values are NaN");
  EXPECT_EQ(text_of<double>(DataType::kFp64, {-kInfinite, 2}), "output 'y': 1 of 2 values are infinite");
  EXPECT_EQ(text_of<uint16_t>(DataType::kFp16, {0x7C00, 0x7E00, 0x7BFF}),
            "output 'y': 2 of 3 values are NaN or infinite");
  EXPECT_EQ(text_of<uint16_t>(DataType::kBf16, {0x7F80, 0x7F7F}), "output 'y': 1 of 2 values are infinite");
  EXPECT_EQ(text_of<int64_t>(DataType::kInt64, {-1}), "");
}

}  // namespace
}  // namespace ridge::measure
