#include "measure/claim.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ridge::measure {
namespace {

const ClaimedFigure kTenToThirty{ClaimedFigure::kGain, 1.10, 1.30};

TEST(Verdicts, FollowFromRangeAndInterval) {
  EXPECT_EQ(judge(kTenToThirty, {1.20, 1.18, 1.22}), Judgement::kConfirmed);
  EXPECT_EQ(judge(kTenToThirty, {1.08, 1.05, 1.11}), Judgement::kConfirmed) << "the range may be what is true";
  EXPECT_EQ(judge(kTenToThirty, {1.05, 1.04, 1.06}), Judgement::kSmaller);
  EXPECT_EQ(judge(kTenToThirty, {1.01, 0.99, 1.03}), Judgement::kSmaller) << "no effect is less than the claim";
  EXPECT_EQ(judge(kTenToThirty, {2.00, 1.90, 2.10}), Judgement::kLarger);
  EXPECT_EQ(judge(kTenToThirty, {0.90, 0.88, 0.92}), Judgement::kContradicted);
}

TEST(Verdicts, AreRefusedWhereTheIntervalTellsNothing) {
  EXPECT_EQ(judge(kTenToThirty, {1.05, 0.95, 1.15}), Judgement::kNotTestable);
  EXPECT_EQ(judge(kTenToThirty, {1.40, 1.10, 1.90}), Judgement::kNotTestable) << "wider than kTooWide";
  EXPECT_EQ(judge(kTenToThirty, {16.46, 10.77, 25.16}), Judgement::kLarger)
      << "wide, but all of it is beyond the range";
  EXPECT_EQ(judge({ClaimedFigure::kGain, 1, std::nullopt}, {1.75, 1.39, 2.19}), Judgement::kConfirmed)
      << "wide, but all of it is inside";
}

TEST(Verdicts, OfAClaimOfOneNumberAllowALittleAround) {
  ClaimedFigure once{ClaimedFigure::kGain, 1.37, 1.37};
  EXPECT_EQ(judge(once, {1.40, 1.39, 1.41}), Judgement::kConfirmed);
  EXPECT_EQ(judge(once, {1.50, 1.49, 1.51}), Judgement::kLarger);
  EXPECT_EQ(judge(once, {1.20, 1.19, 1.21}), Judgement::kSmaller);
}

TEST(Verdicts, OfAClaimWithoutUpperEndNeedAGain) {
  ClaimedFigure faster{ClaimedFigure::kGain, 1, std::nullopt};
  EXPECT_EQ(judge(faster, {3, 2.8, 3.2}), Judgement::kConfirmed);
  EXPECT_EQ(judge(faster, {1.00, 0.98, 1.02}), Judgement::kSmaller);
  EXPECT_EQ(judge(faster, {1.09, 0.91, 1.31}), Judgement::kNotTestable) << "a gain is possible";
  EXPECT_EQ(judge(faster, {0.95, 0.94, 0.96}), Judgement::kContradicted);
}

TEST(Verdicts, OfACostLookAtTheTimeOfTheDearerWay) {
  ClaimedFigure cost{ClaimedFigure::kCost, 1.05, 1.10};
  EXPECT_EQ(judge(cost, {0.93, 0.92, 0.94}), Judgement::kConfirmed);
  EXPECT_EQ(judge(cost, {0.50, 0.49, 0.51}), Judgement::kLarger);
  EXPECT_EQ(judge(cost, {1.10, 1.08, 1.12}), Judgement::kContradicted);
}

TEST(Verdicts, OfAShareHaveNoDirection) {
  ClaimedFigure share{ClaimedFigure::kShare, 0.60, 0.75};
  EXPECT_EQ(judge(share, {0.70, 0.69, 0.71}), Judgement::kConfirmed);
  EXPECT_EQ(judge(share, {0.40, 0.39, 0.41}), Judgement::kSmaller);
  EXPECT_EQ(judge(share, {0.90, 0.89, 0.91}), Judgement::kLarger);
}

TEST(Claims, AreAllThereInOrderWithTheirFigures) {
  auto all = claims();
  ASSERT_TRUE(all) << all.error().message;
  size_t number = 0;
  for (const Claim& claim : *all) {
    EXPECT_EQ(claim.id, fmt::format("L{:02}", ++number));
    EXPECT_FALSE(claim.statement.empty()) << claim.id;
    EXPECT_FALSE(claim.source.empty()) << claim.id;
    EXPECT_NE(claim.on.empty(), claim.elsewhere.empty()) << claim.id << ": the lab tests it, or something else does";
  }
  auto coalescing = find_claim(*all, "L04");
  ASSERT_TRUE(coalescing);
  EXPECT_EQ(figure_text(*coalescing->figure), "1.10 to 1.30 ×");
  EXPECT_EQ(figure_text(*find_claim(*all, "L05")->figure), "more than 1 ×");
  EXPECT_EQ(figure_text(*find_claim(*all, "L01")->figure), "1.05 to 1.10 × the time");
  EXPECT_EQ(figure_text(*find_claim(*all, "L17")->figure), "60 to 75 %");
  EXPECT_FALSE(find_claim(*all, "L99"));
}

}  // namespace
}  // namespace ridge::measure
