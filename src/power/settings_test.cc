#include "power/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "power/test_power_control.h"
#include "power/unit.h"

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
  EXPECT_TRUE(check({100000, {}, {}}, played_state(), "GPU 0"));
  Status low = check({99999, {}, {}}, played_state(), "GPU 0");
  ASSERT_FALSE(low);
  EXPECT_EQ(low.error().code, Code::kInvalid);
  EXPECT_THAT(low.error().message, HasSubstr("100 W to 600 W"));
  EXPECT_FALSE(check({600001, {}, {}}, played_state(), "GPU 0"));
  EXPECT_FALSE(check({{}, ClockRange{1200, 2501}, {}}, played_state(), "GPU 0"));
  EXPECT_FALSE(check({{}, ClockRange{1500, 1200}, {}}, played_state(), "GPU 0"));
  State fixed = played_state();
  fixed.limit_max_mw = fixed.limit_min_mw = Error{Code::kUnsupported, "Not Supported"};
  EXPECT_EQ(check({300000, {}, {}}, fixed, "GPU 0").error().code, Code::kUnsupported);
}

TEST(PowerSettings, TheRecordOfWhatWasGoesThroughJson) {
  Result<PreviousSetting> back =
      from_json<PreviousSetting>(json_of(PreviousSetting{"GPU-1", "GPU 0", 450000, true, false}));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->limit_mw, 450000);
  EXPECT_TRUE(back->unlock_clocks);
  EXPECT_FALSE(back->unlock_memory_clocks);
  EXPECT_EQ(before_text(*back), "power limit 450 W, clock unlocked");
}

// systemd.syntax(7): a quoted word keeps blanks; % and $ are doubled, quotes and backslashes escaped.
TEST(PowerUnit, WordsOfTheCommandSurviveSystemdsQuoting) {
  const std::string text = unit_text("/opt/a b/ridge", {"power", "50%\"$x\\"}, "ridge holds 300 W");
  EXPECT_THAT(text, HasSubstr("ExecStart=\"/opt/a b/ridge\" \"power\" \"50%%\\\"$$x\\\\\"\n"));
  EXPECT_THAT(text, HasSubstr("KillMode=process\n"));
}

}  // namespace
}  // namespace ridge::power
