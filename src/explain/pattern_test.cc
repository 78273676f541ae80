#include "explain/pattern.h"

#include <gtest/gtest.h>

namespace ridge::explain {
namespace {

TEST(Pattern, PartsStandInOneLineInTheirOrder) {
  constexpr std::string_view kText = "first\nfailed to load library libx.so with error: none\nlast";
  auto found = find_pattern(kText, "Failed to load library * with error");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text, "failed to load library libx.so with error");
  EXPECT_EQ(found->at, 6u);
  EXPECT_FALSE(find_pattern(kText, "with error * failed to load"));
  EXPECT_FALSE(find_pattern(kText, "first * failed"));
}

TEST(Pattern, ALaterLineIsTriedWhenAnEarlierHasOnlyTheBeginning) {
  auto found = find_pattern("nccl warn x\nnccl warn y connection refused", "nccl warn * connection refused");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->at, 12u);
}

TEST(Pattern, TheMoreIsSaidTheMoreSpecific) {
  EXPECT_GT(find_pattern("abc def", "abc def")->literal, find_pattern("abc def", "abc")->literal);
}

TEST(Pattern, AnEmptyOneMatchesNothing) {
  EXPECT_FALSE(find_pattern("text", ""));
  EXPECT_FALSE(find_pattern("text", " * "));
}

}  // namespace
}  // namespace ridge::explain
