#include "cli/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridge::cli {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::Pointwise;

std::vector<double> steps(std::string_view text) {
  const auto values = parse_steps("--rate", text);
  EXPECT_TRUE(values) << text;
  return values ? *values : std::vector<double>();
}

TEST(Steps, OneValueAListAndASeries) {
  EXPECT_THAT(steps("8"), ElementsAre(8));
  EXPECT_THAT(steps("0.5"), ElementsAre(0.5));
  EXPECT_THAT(steps("1,4,16"), ElementsAre(1, 4, 16));
  EXPECT_THAT(steps("1..8"), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(steps("3..20"), ElementsAre(3, 6, 12, 20)) << "the end is part of it";
  EXPECT_THAT(steps("100..300:100"), ElementsAre(100, 200, 300));
  EXPECT_THAT(steps("0.1..0.3:0.1"), Pointwise(DoubleEq(), {0.1, 0.2, 0.1 + 2 * 0.1}));
  EXPECT_THAT(steps("1..2,10"), ElementsAre(1, 2, 10));
  EXPECT_THAT(steps("5..5"), ElementsAre(5));
}

TEST(Steps, NonsenseIsRefused) {
  for (const char* text : {"", ",", "1,", "0", "-1", "x", "1..", "..8", "8..1", "1..8:0", "1..8:", "1..1e300",
                           "1..1000:1", "nan", "inf", "1 2"})
    EXPECT_FALSE(parse_steps("--rate", text)) << text;
  EXPECT_FALSE(parse_whole_steps("--concurrency", "1.5"));
  EXPECT_FALSE(parse_whole_steps("--concurrency", "1..3:0.5"));
  EXPECT_FALSE(parse_whole_steps("--concurrency", "1e12"));
  EXPECT_THAT(*parse_whole_steps("--concurrency", "1..4"), ElementsAre(1, 2, 4));
}

}  // namespace
}  // namespace ridge::cli
