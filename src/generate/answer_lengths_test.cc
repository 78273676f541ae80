#include "generate/answer_lengths.h"

#include <gtest/gtest.h>

namespace ridge::generate {
namespace {

TEST(AnswerLengths, ExpectAllUntilAnswersHaveEnded) {
  AnswerLengths lengths;
  for (int i = 0; i < 31; ++i) lengths.add(10, 100);
  EXPECT_EQ(lengths.expected(0, 200).tokens, 200);
  lengths.add(10, 100);
  EXPECT_NEAR(lengths.expected(0, 200).tokens, 20, 1e-9);
  EXPECT_NEAR(lengths.expected(0, 200).variance, 0, 1e-6);
}

TEST(AnswerLengths, FollowTheLastOnesAndTheirSpread) {
  AnswerLengths lengths;
  for (int i = 0; i < 1000; ++i) lengths.add(10, 100);
  for (int i = 0; i < 2000; ++i) lengths.add(i % 2 == 0 ? 40 : 80, 100);
  EXPECT_NEAR(lengths.expected(0, 100).tokens, 60, 1);
  EXPECT_NEAR(lengths.expected(0, 100).variance, 400, 20);
  // One that is longer than most goes on.
  EXPECT_EQ(lengths.expected(90, 100).tokens, 95);
  EXPECT_EQ(lengths.expected(100, 100).tokens, 100);
}

TEST(AnswerLengths, QuantilesAreThoseOfTheNormalDistribution) {
  EXPECT_NEAR(normal_quantile_above(0.5), 0, 1e-9);
  EXPECT_NEAR(normal_quantile_above(0.01), 2.326348, 1e-6);
  EXPECT_NEAR(normal_quantile_above(0.0013499), 3, 1e-4);
}

}  // namespace
}  // namespace ridge::generate
