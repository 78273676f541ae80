#include "serve/reshape.h"

#include <gtest/gtest.h>

namespace ridge::serve {
namespace {

TEST(Reshape, AcceptsEqualElementsBetweenOpenDimensions) {
  EXPECT_TRUE(check_reshape({1}, {}).ok());
  EXPECT_TRUE(check_reshape({4, 4}, {16}).ok());
  EXPECT_TRUE(check_reshape({-1, 4, 2}, {-1, 8}).ok());
  EXPECT_TRUE(check_reshape({2, -1, 3}, {1, 2, -1, 3, 1}).ok());
}

TEST(Reshape, RefusesOtherElementsOrOpenDimensions) {
  EXPECT_FALSE(check_reshape({2}, {}).ok());
  EXPECT_FALSE(check_reshape({-1}, {4}).ok());
  EXPECT_FALSE(check_reshape({2, -1, 3}, {3, -1, 2}).ok());
  EXPECT_FALSE(check_reshape({int64_t{1} << 62, 16}, {0}).ok());
}

TEST(Reshape, FillsOpenDimensionsInOrder) {
  Shape actual = {7, 4, 2, 9};
  EXPECT_EQ(reshaped({-1, 4, 2, -1}, actual, {-1, 8, -1, 1}), (Shape{7, 8, 9, 1}));
  EXPECT_EQ(reshaped({1}, Shape{1}, {}), (Shape{}));
  EXPECT_EQ(reshaped({}, Shape{}, {1}), (Shape{1}));
}

TEST(Reshape, MatchesLeaveOpenDimensionsFree) {
  EXPECT_TRUE(matches({-1, 2}, Shape{5, 2}));
  EXPECT_FALSE(matches({-1, 2}, Shape{5, 3}));
  EXPECT_FALSE(matches({-1, 2}, Shape{5}));
}

}  // namespace
}  // namespace ridge::serve
