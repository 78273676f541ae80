#include "sizing/economics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace ridge::sizing {
namespace {

using ::testing::HasSubstr;

Assumption input(const char* name, double value) { return {name, value, "", Origin::kAssumed, ""}; }

// A T4 (70 W) rented at 0.5 $/h, the handbook's example of the cloud by the hour, against a GPU of 2000 $.
EconomicInputs t4() {
  EconomicInputs in;
  in.power_w = input("power", 70);
  in.load_factor = input("load_factor", 0.8);
  in.idle_factor = input("idle_factor", 0.2);
  in.pue = input("pue", 1.5);
  in.kwh_usd = input("electricity", 0.2);
  in.years = input("years", 4);
  in.utilisation = input("utilisation", 0.5);
  in.staff_share = input("staff_share", 0.1);
  in.rented_share = input("rented_share", 1);
  in.price_usd = input("price", 2000);
  in.hour_usd = input("hour", 0.5);
  in.batch_ms = 20;
  in.batch = 4;
  return in;
}

TEST(Economics, EnergyIsPowerTimesTimeByRow) {
  // 70 W · 0.8 · 20 ms / 4 rows = 0.28 J.
  EXPECT_NEAR(economics(t4()).joules_per_row, 0.28, 1e-12);
  // A million rows at 200 rows/s, half of the time: 10 000 s, 2.778 h, at 70 · (0.4 + 0.1) · 1.5 = 52.5 W.
  EXPECT_NEAR(economics(t4()).kwh_per_million, 0.0525 * 1e4 / 3600, 1e-12);
}

TEST(Economics, OwningIsDepreciationStaffAndElectricity) {
  // Worked by hand: 2000 / (4 · 8760) = 0.05708; 200 / 8760 = 0.02283; 0.0525 kW · 0.2 = 0.0105 $/h. Sum 0.09041.
  Economics e = economics(t4());
  EXPECT_NEAR(e.depreciation_usd_per_hour, 0.05708, 1e-5);
  EXPECT_NEAR(e.staff_usd_per_hour, 0.02283, 1e-5);
  EXPECT_NEAR(e.electricity_usd_per_hour, 0.0105, 1e-9);
  EXPECT_NEAR(*e.owning_usd_per_hour, 0.09041, 1e-5);
  // 2.7778 h of use per million rows: 0.2511 $; renting 1.3889 $.
  EXPECT_NEAR(*e.owning_usd_per_million, 0.2511, 1e-4);
  EXPECT_NEAR(*e.renting_usd_per_million, 1.3889, 1e-4);
}

TEST(Economics, BreaksEvenWhenTheRentSavedHasPaidThePrice) {
  // (0.5 − 0.0105 − 0.02283) · 730 = 340.67 $ per month; 2000 / 340.67 = 5.87 months.
  Economics e = economics(t4());
  EXPECT_NEAR(*e.break_even_months, 5.87, 0.01);
  EXPECT_THAT(e.verdict, HasSubstr("from month 6"));
}

TEST(Economics, RentingWinsWhenItIsSwitchedOffMostOfTheTime) {
  EconomicInputs in = t4();
  in.rented_share.value = 0.05;  // 0.025 $/h, less than the running costs
  Economics e = economics(in);
  EXPECT_FALSE(e.break_even_months.has_value());
  EXPECT_THAT(e.verdict, HasSubstr("renting is always cheaper"));
  in.rented_share.value = 0.1;  // 0.05 $/h: 12.2 $ per month, 165 months
  e = economics(in);
  EXPECT_GT(*e.break_even_months, 48);
  EXPECT_THAT(e.verdict, HasSubstr("after the 4 years"));
}

TEST(Economics, APriceThatIsNotKnownIsNotZero) {
  EconomicInputs in = t4();
  in.price_usd.reset();
  Economics e = economics(in);
  EXPECT_FALSE(e.owning_usd_per_hour.has_value());
  EXPECT_TRUE(e.renting_usd_per_hour.has_value());
  EXPECT_FALSE(e.break_even_months.has_value());
  EXPECT_EQ(e.verdict, "");
}

TEST(Economics, TheJsonHasInputsByTheirNamesAndNullForWhatIsNotKnown) {
  EconomicInputs in = t4();
  in.price_usd.reset();
  const Json json = json_of(economics(in));
  EXPECT_EQ(json["inputs"]["electricity"]["value"], 0.2);
  EXPECT_EQ(json["inputs"]["hour"]["origin"], "assumed");
  EXPECT_FALSE(json["inputs"].contains("price"));
  EXPECT_TRUE(json["owning_usd_per_hour"].is_null());
  EXPECT_EQ(json["renting_usd_per_hour"], 0.5);
}

}  // namespace
}  // namespace ridge::sizing
