#include "machine/energy_meter.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_folder.h"

namespace ridge::machine {
namespace {

namespace fs = std::filesystem;

class EnergyMeterTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(powercap()); }
  fs::path powercap() const { return fs::path(folder_.path()) / "sys/class/powercap"; }
  void zone(const std::string& zone, const std::string& name, int64_t energy_uj, int64_t range_uj = 262143328850) {
    fs::create_directories(powercap() / zone);
    std::ofstream(powercap() / zone / "name") << name << '\n';
    std::ofstream(powercap() / zone / "energy_uj") << energy_uj << '\n';
    std::ofstream(powercap() / zone / "max_energy_range_uj") << range_uj << '\n';
  }
  Result<EnergyMeter> open() const { return EnergyMeter::open(folder_.path()); }

  TemporaryFolder folder_ = TemporaryFolder::make().value();
};

TEST_F(EnergyMeterTest, AddsPackagesAndTheirMemoryButNotWhatTheyHold) {
  zone("intel-rapl:0", "package-0", 1'000'000);
  zone("intel-rapl:0:0", "core", 500'000);
  zone("intel-rapl:0:1", "dram", 2'000'000);
  zone("intel-rapl:1", "psys", 9'000'000);
  Result<EnergyMeter> meter = open();
  ASSERT_TRUE(meter) << meter.error().message;
  EXPECT_EQ(meter->source(), "RAPL package-0, dram");
  EXPECT_EQ(*meter->joules(), 0);
  zone("intel-rapl:0", "package-0", 4'000'000);
  zone("intel-rapl:0:0", "core", 3'000'000);
  zone("intel-rapl:0:1", "dram", 2'500'000);
  EXPECT_DOUBLE_EQ(*meter->joules(), 3.5);
}

TEST_F(EnergyMeterTest, ACounterThatStartsAgainGoesOn) {
  zone("intel-rapl:0", "package-0", 262'143'000'000);
  Result<EnergyMeter> meter = open();
  ASSERT_TRUE(meter);
  zone("intel-rapl:0", "package-0", 671'150);
  EXPECT_DOUBLE_EQ(*meter->joules(), 1.0);
}

TEST_F(EnergyMeterTest, AMachineWithoutCountersSaysSo) {
  Result<EnergyMeter> meter = open();
  ASSERT_FALSE(meter);
  EXPECT_EQ(meter.error().code, Code::kNotFound);
  EXPECT_NE(meter.error().message.find("no RAPL zone"), std::string::npos);
}

TEST_F(EnergyMeterTest, AnUnreadableCounterNamesTheRemedy) {
  zone("intel-rapl:0", "package-0", 1);
  fs::remove(powercap() / "intel-rapl:0/energy_uj");
  Result<EnergyMeter> meter = open();
  ASSERT_FALSE(meter);
  EXPECT_EQ(meter.error().code, Code::kUnavailable);
  EXPECT_NE(meter.error().message.find("root"), std::string::npos);
}

TEST(EnergyCounters, ThatNeverBeginAnewSayWhenTheyWentBack) {
  int64_t now_uj = 5'000'000;
  Result<EnergyMeter> meter = EnergyMeter::of_counters({{"gpu", [&] { return Result<int64_t>(now_uj); }, 0}}, 0.1);
  ASSERT_TRUE(meter.ok());
  EXPECT_DOUBLE_EQ(meter->step_seconds(), 0.1);
  now_uj = 7'500'000;
  EXPECT_DOUBLE_EQ(*meter->joules(), 2.5);
  now_uj = 100;
  Result<double> back = meter->joules();
  ASSERT_FALSE(back.ok());
  EXPECT_NE(back.error().message.find("its driver was reloaded"), std::string::npos);
}

}  // namespace
}  // namespace ridge::machine
