#include "power/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridge::power {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

gpu::Gpu gpu_of(int index) {
  gpu::Gpu gpu;
  gpu.index = index;
  gpu.uuid = "GPU-" + std::to_string(index);
  gpu.power_limit_set_mw = int64_t{400000};
  gpu.power_limit_default_mw = int64_t{450000};
  gpu.power_limit_min_mw = int64_t{100000};
  gpu.power_limit_max_mw = int64_t{600000};
  gpu.sm_clock_max_mhz = int64_t{2500};
  return gpu;
}

Overview overview_of(const std::string& vendor) {
  Overview overview;
  overview.vendors.push_back({.vendor = vendor, .library = "", .gpus = {gpu_of(0), gpu_of(1)}, .reason = {}});
  return overview;
}

TEST(PowerCommands, OfNvidiaNameTheGpuByItsUuid) {
  const Result<Commands> commands =
      commands_for(overview_of("NVIDIA"), {.limit_mw = 300500, .clocks = ClockRange{1200, 1500}, .memory_clocks = {}});
  ASSERT_TRUE(commands) << commands.error().message;
  EXPECT_THAT(commands->set,
              ElementsAre("sudo nvidia-smi -i GPU-0 -pl 300.5", "sudo nvidia-smi -i GPU-0 -lgc 1200,1500",
                          "sudo nvidia-smi -i GPU-1 -pl 300.5", "sudo nvidia-smi -i GPU-1 -lgc 1200,1500"));
  EXPECT_THAT(commands->undone, ElementsAre("sudo nvidia-smi -i GPU-0 -pl 400", "sudo nvidia-smi -i GPU-0 -rgc",
                                            "sudo nvidia-smi -i GPU-1 -pl 400", "sudo nvidia-smi -i GPU-1 -rgc"));
  EXPECT_THAT(commands->unit, HasSubstr("\nExecStart=nvidia-smi -i GPU-0 -pl 300.5\n"));
  EXPECT_THAT(commands->unit, HasSubstr("\nExecStop=nvidia-smi -i GPU-1 -rgc\n"));
}

TEST(PowerCommands, OfOtherVendorsAreTheirTools) {
  EXPECT_THAT(commands_for(overview_of("AMD"), {.limit_mw = 300000, .clocks = {}, .memory_clocks = {}})->set,
              ElementsAre("sudo rocm-smi -d 0 --setpoweroverdrive 300 --autorespond y",
                          "sudo rocm-smi -d 1 --setpoweroverdrive 300 --autorespond y"));
  EXPECT_THAT(
      commands_for(overview_of("Intel"), {.limit_mw = {}, .clocks = ClockRange{800, 900}, .memory_clocks = {}})->set,
      ElementsAre("sudo xpu-smi config -d 0 -t 0 --frequencyrange 800,900",
                  "sudo xpu-smi config -d 1 -t 0 --frequencyrange 800,900"));
  EXPECT_EQ(commands_for(overview_of("Intel"), {.limit_mw = {}, .clocks = {}, .memory_clocks = ClockRange{1, 2}})
                .error()
                .code,
            Code::kUnsupported);
}

TEST(PowerCommands, ResetSetsTheDefaultsAndUnlocks) {
  const Commands commands =
      commands_for(overview_of("NVIDIA"), {.limit_mw = {}, .clocks = {}, .memory_clocks = {}, .reset = true}).value();
  ASSERT_EQ(commands.set.size(), 6u);
  EXPECT_EQ(commands.set[0], "sudo nvidia-smi -i GPU-0 -pl 450");
  EXPECT_EQ(commands.set[2], "sudo nvidia-smi -i GPU-0 -rmc");
}

// 300 W over two packages, in a unit by a shell whose dollar systemd must not expand.
TEST(PowerCommands, OfTheCpuWriteToEachPackage) {
  Overview overview;
  State state = state_of(gpu_of(0));
  state.limit_mw = int64_t{350000};
  overview.cpu = state;
  overview.packages = 2;
  const Commands commands =
      commands_for(overview, {.limit_mw = 300000, .clocks = {}, .memory_clocks = {}, .reset = false, .cpu = true})
          .value();
  EXPECT_THAT(commands.set, ElementsAre(HasSubstr("do echo 150000000 | sudo tee $f; done")));
  EXPECT_THAT(commands.undone, ElementsAre(HasSubstr("echo 175000000 ")));
  EXPECT_THAT(commands.unit, HasSubstr("do echo 150000000 | tee $$f; done'\n"));
}

TEST(PowerCommands, OutsideTheRangeAreRefused) {
  EXPECT_EQ(commands_for(overview_of("NVIDIA"), {.limit_mw = 99000, .clocks = {}, .memory_clocks = {}}).error().code,
            Code::kInvalid);
  EXPECT_EQ(commands_for(Overview{}, {.limit_mw = 99000, .clocks = {}, .memory_clocks = {}}).error().code,
            Code::kNotFound);
}

}  // namespace
}  // namespace ridge::power
