#include "base/units.h"

#include <gtest/gtest.h>

namespace ridge {
namespace {

TEST(Format, UsesThreeSignificantDigitsAndAPrefix) {
  EXPECT_EQ(format_count(25557032), "25.6 M");
  EXPECT_EQ(format_count(12), "12");
  EXPECT_EQ(format_row_rate(65920), "65.9 k rows/s");
  EXPECT_EQ(format_row_rate(7.432), "7.43 rows/s");
  EXPECT_EQ(format_flops(8.178e9), "8.18 GFLOP");
  EXPECT_EQ(format_flops_rate(1.2e11), "120 GFLOP/s");
  EXPECT_EQ(format_bytes(102400), "100 KiB");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bandwidth(2.5e10), "25.0 GB/s");
  EXPECT_EQ(format_hertz(3.712e9), "3.71 GHz");
}

TEST(Format, RoundingNeverShowsAThousandOfTheSmallerUnit) {
  EXPECT_EQ(format_flops(999.9e6), "1.00 GFLOP");
  EXPECT_EQ(format_count(0), "0");
}

TEST(Format, ARateOfNothingIsAbsent) {
  EXPECT_EQ(format_flops_rate(0), "-");
  EXPECT_EQ(format_bandwidth(0), "-");
  EXPECT_EQ(format_row_rate(0), "-");
  EXPECT_EQ(format_ms(0), "-");
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_flops(0), "0 FLOP");
}

TEST(Format, SmallValuesKeepTheirDigitsAndNeedNoExponent) {
  EXPECT_EQ(format_count(0.004567), "0.00457");
  EXPECT_EQ(format_row_rate(0.00999), "0.00999 rows/s");
  EXPECT_EQ(format_rate(65920, "tokens"), "65.9 k tokens/s");
  EXPECT_EQ(format_energy(0.01234), "12.3 mJ");
  EXPECT_EQ(format_energy(4.2e-6), "4.20 µJ");
  EXPECT_EQ(format_energy(3.6e6), "3.60 MJ");
}

TEST(Format, PercentagesHaveOneDigitBehindThePointUntilTheyAreSmall) {
  EXPECT_EQ(format_percent(94.66), "94.7 %");
  EXPECT_EQ(format_percent(0.35), "0.3 %");
  EXPECT_EQ(format_percent(0.035), "0.04 %");
  EXPECT_EQ(format_percent(0.0022), "< 0.01 %");
  EXPECT_EQ(format_percent(0), "0.0 %");
}

TEST(Format, PricesHaveCentsAndSmallOnesThreeDigits) {
  EXPECT_EQ(format_usd(14.7), "$14.70");
  EXPECT_EQ(format_usd(0.4753), "$0.475");
  EXPECT_EQ(format_usd(28000), "$28.0 k");
}

TEST(FormatMs, PicksTheUnitThatReads) {
  EXPECT_EQ(format_ms(38.61), "38.6 ms");
  EXPECT_EQ(format_ms(0.4123), "412 µs");
  EXPECT_EQ(format_ms(1240), "1.24 s");
  EXPECT_EQ(format_ms(0.00005), "50.0 ns");
  EXPECT_EQ(format_ms(0.00000009), "< 1 ns");
}

TEST(ParseBytes, ReadsDecimalAndBinaryUnits) {
  EXPECT_EQ(*parse_bytes("4096"), 4096);
  EXPECT_EQ(*parse_bytes("64MiB"), 64 << 20);
  EXPECT_EQ(*parse_bytes("1.5 GB"), 1500000000);
}

TEST(ParseBytes, RefusesWhatIsNotASizeAndSaysWhatToWrite) {
  for (const char* wrong : {"", "MiB", "-1", "5 parsecs", "1e30"}) {
    auto parsed = parse_bytes(wrong);
    ASSERT_FALSE(parsed.ok()) << wrong;
    EXPECT_NE(parsed.error().message.find("64MiB"), std::string::npos);
  }
}

TEST(Units, ACountHasOneOrMany) {
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(12, "other device"), "12 other devices");
}

TEST(Names, PrecisionAndOriginRoundTripAndUnknownListsTheKnown) {
  EXPECT_EQ(*precision_from_name(precision_name(Precision::kBf16)), Precision::kBf16);
  EXPECT_EQ(*from_name<Origin>(names_of(Origin{}), origin_name(Origin::kDerived), "origin"), Origin::kDerived);
  auto unknown = precision_from_name("fp31");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("bf16"), std::string::npos);
}

}  // namespace
}  // namespace ridge
