#include "power/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "power/test_power_control.h"

namespace ridge::power {
namespace {

using testing::HasSubstr;

State played_state() {
  PlayedGpu::Values values;
  return *PlayedGpu(values).state();
}

TEST(PowerSettings, WattsAndClocksAreReadWithTheirUnits) {
  EXPECT_EQ(*parse_watts("300"), 300000);
  EXPECT_EQ(*parse_watts("250.5 W"), 250500);
  for (const char* wrong : {"", "W", "-3", "0", "300 kW", "3OO", "nan", "inf"})
    EXPECT_FALSE(parse_watts(wrong)) << wrong;
  EXPECT_EQ(parse_clocks("1200,1500")->max_mhz, 1500);
  EXPECT_EQ(parse_clocks("1500")->min_mhz, 1500);
  for (const char* wrong : {"", "fast", "1200,", ",1500", "0,0", "1200,1500,1600"})
    EXPECT_FALSE(parse_clocks(wrong)) << wrong;
}

TEST(PowerSettings, WhatLiesOutsideTheRangeIsRefusedWithTheRange) {
  EXPECT_TRUE(check_limit(100000, played_state(), "GPU 0"));
  Status low = check_limit(99999, played_state(), "GPU 0");
  ASSERT_FALSE(low);
  EXPECT_EQ(low.error().code, Code::kInvalid);
  EXPECT_THAT(low.error().message, HasSubstr("100 W to 600 W"));
  EXPECT_FALSE(check_limit(600001, played_state(), "GPU 0"));
  EXPECT_FALSE(check_clocks({1200, 2501}, played_state().clock_max_mhz, "GPU 0"));
  EXPECT_FALSE(check_clocks({1500, 1200}, played_state().clock_max_mhz, "GPU 0"));
  State fixed = played_state();
  fixed.limit_max_mw = fixed.limit_min_mw = Error{Code::kUnsupported, "Not Supported"};
  EXPECT_EQ(check_limit(300000, fixed, "GPU 0").error().code, Code::kUnsupported);
}

}  // namespace
}  // namespace ridge::power
