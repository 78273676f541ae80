#include "app/power_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "power/test_power_control.h"

namespace ridge::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PowerSetTest : public ::testing::Test {
 protected:
  power::PowerControls gpus() {
    power::PowerControls power_controls;
    power_controls.push_back(std::make_unique<power::PlayedGpu>(first_, "GPU-first"));
    power_controls.push_back(std::make_unique<power::PlayedGpu>(second_, "GPU-second"));
    return power_controls;
  }
  Result<PowerHold> hold(const power::Settings& settings, const std::string& command) {
    return hold_power(
        {[this] { return Result(gpus()); }, settings, {"sh", "-c", command}, folder_.path()},
        {[this](power::PowerControls& power_controls) { held_mw_ = *power_controls.front()->state()->limit_mw; },
         [this](const std::string& what) { warnings_.push_back(what); }});
  }

  TemporaryFolder folder_ = TemporaryFolder::make().value();
  power::PlayedGpu::Values first_, second_;
  int64_t held_mw_ = 0;  // when everything was set
  std::vector<std::string> warnings_;
};

TEST_F(PowerSetTest, HoldsUntilTheCommandEndsAndRestores) {
  const Result<PowerHold> held = hold({300000, {}, {}}, "exit 7");
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_TRUE(held->restored);
  EXPECT_EQ(held->ended.value(), 7);
  EXPECT_EQ(held_mw_, 300000);
  EXPECT_THAT(second_.changes, ElementsAre("limit 300", "limit 450"));
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_THAT(power::read_records(folder_.path()), IsEmpty());
}

TEST_F(PowerSetTest, AnOutcomeThatCannotBeRestoredKeepsTheStatusOfTheCommand) {
  first_.changes_left = 1;
  const Result<PowerHold> held = hold({300000, {}, {}}, "exit 7");
  ASSERT_TRUE(held);
  EXPECT_THAT(held->restored.error().message, HasSubstr("GPU-first is not restored (power limit 450 W)"));
  EXPECT_EQ(held->ended.value(), 7);
  EXPECT_THAT(second_.changes, ElementsAre("limit 300", "limit 450"));
}

TEST_F(PowerSetTest, WhatIsRefusedRunsNoCommand) {
  const Result<PowerHold> held = hold({700000, {}, {}}, "touch " + folder_.path() + "/ran");
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, Code::kInvalid);
  EXPECT_EQ(held_mw_, 0);
  EXPECT_THAT(first_.changes, IsEmpty());
  EXPECT_FALSE(read_file(folder_.path() + "/ran"));
}

TEST_F(PowerSetTest, AFolderThatCannotBeWrittenIsAWarning) {
  ASSERT_TRUE(write_file_atomically(folder_.path() + "/file", ""));
  const Result<PowerHold> held =
      hold_power({[this] { return Result(gpus()); }, {300000, {}, {}}, {"true"}, folder_.path() + "/file/records"},
                 {[](power::PowerControls&) {}, [this](const std::string& what) { warnings_.push_back(what); }});
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_TRUE(held->restored);
  EXPECT_EQ(warnings_.size(), 1U);
}

TEST_F(PowerSetTest, ResetLeavesADeviceToTheProcessThatHoldsIt) {
  const Result<power::Claim> other = power::Claim::take(folder_.path(), "GPU-first");
  ASSERT_TRUE(other) << other.error().message;
  power::PowerControls power_controls = gpus();
  const std::vector<Error> failures = reset_power(power_controls, folder_.path());
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].code, Code::kUnavailable);
  EXPECT_THAT(first_.changes, IsEmpty());
  EXPECT_THAT(second_.changes, ElementsAre("limit 450", "unlock", "unlock memory"));
}

TEST_F(PowerSetTest, ResetGoesOnAfterAFailureAndForgetsWhatWasLeftBehind) {
  {
    Result<power::Claim> killed = power::Claim::take(folder_.path(), "GPU-second");
    ASSERT_TRUE(killed);
    ASSERT_TRUE(killed->write({1, {300000, {}, {}}, {"GPU-second", "GPU-second", 450000}}));
  }
  ASSERT_EQ(power::read_records(folder_.path()).size(), 1U);
  first_.changes_left = 0;
  power::PowerControls power_controls = gpus();
  EXPECT_EQ(reset_power(power_controls, folder_.path()).size(), 1U);
  EXPECT_EQ(second_.changes.front(), "limit 450");
  EXPECT_THAT(power::read_records(folder_.path()), IsEmpty());
}

TEST_F(PowerSetTest, AServiceSetsTheSameOnDevicesByTheirIds) {
  power::PowerControls power_controls = gpus();
  const PowerServiceRequest request{{300000, {}, {}}, {"--limit", "300W"}, {folder_.path(), false}};
  const Result<std::string> text = persist_power(power_controls, request);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_THAT(*text, HasSubstr(R"("power" "set" "--device" "GPU-first,GPU-second" "--limit" "300W")"));
  EXPECT_THAT(*text, HasSubstr("Description=ridge holds the power limit 300 W"));
  EXPECT_EQ(read_file(folder_.path() + "/" + power::kUnitName).value(), *text);
  EXPECT_THAT(first_.changes, IsEmpty()) << "the service does it";
}

TEST_F(PowerSetTest, AServiceThatCouldNotSetItIsNotInstalled) {
  power::PowerControls power_controls = gpus();
  EXPECT_EQ(persist_power(power_controls, {{700000, {}, {}}, {}, {folder_.path(), false}}).error().code,
            Code::kInvalid);
  EXPECT_FALSE(read_file(folder_.path() + "/" + power::kUnitName));
}

}  // namespace
}  // namespace ridge::app
