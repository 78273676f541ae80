#include "power/scoped_setting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/fake_clock.h"
#include "base/file.h"
#include "base/temporary_folder.h"
#include "power/packages.h"
#include "power/test_power_control.h"

namespace ridge::power {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

PowerControls one_gpu(PlayedGpu::Values& values) {
  PowerControls controls;
  controls.push_back(std::make_unique<PlayedGpu>(values));
  return controls;
}

class HoldTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_ = TemporaryFolder::make().value();
  Guard guard_ = Guard::start([](const std::string&) {}).value();
  PlayedGpu::Values values_;
  PowerControls controls_ = one_gpu(values_);
  Result<ScopedSetting> take(const Settings& settings) {
    return ScopedSetting::take(controls_, settings, guard_, folder_.path());
  }
};

TEST_F(HoldTest, WhatWasIsRestoredAndNothingElse) {
  {
    Result<ScopedSetting> hold = take({300000, ClockRange{1200, 1500}, {}});
    ASSERT_TRUE(hold) << hold.error().message;
    EXPECT_EQ(read_records(folder_.path()).size(), 1u);
    EXPECT_TRUE(read_records(folder_.path())[0].held);
  }
  EXPECT_THAT(values_.changes, ElementsAre("limit 300", "lock 1200 1500", "limit 450", "unlock"));
  EXPECT_THAT(read_records(folder_.path()), IsEmpty());
}

TEST_F(HoldTest, ARefusalUndoesWhatWasSetBefore) {
  values_.changes_left = 1;
  Result<ScopedSetting> hold = take({300000, ClockRange{1200, 1500}, {}});
  ASSERT_FALSE(hold);
  EXPECT_THAT(hold.error().message, HasSubstr("is lost"));
  EXPECT_THAT(hold.error().message, HasSubstr("is not restored (power limit 450 W)"));
}

TEST_F(HoldTest, ARefusalOfTheFirstSettingLeavesNothingToRestore) {
  values_.changes_left = 0;
  Result<ScopedSetting> hold = take({300000, {}, {}});
  ASSERT_FALSE(hold);
  EXPECT_EQ(hold.error().message, "GPU-played is lost");
  EXPECT_THAT(read_records(folder_.path()), IsEmpty());
}

TEST_F(HoldTest, ALimitOutsideTheRangeChangesNothing) {
  EXPECT_FALSE(take({700000, {}, {}}));
  EXPECT_THAT(values_.changes, IsEmpty());
}

TEST_F(HoldTest, ADeviceIsHeldOnlyOnce) {
  Result<ScopedSetting> first = take({300000, {}, {}});
  ASSERT_TRUE(first);
  Guard other = Guard::start([](const std::string&) {}).value();
  Result<ScopedSetting> second = ScopedSetting::take(controls_, {200000, {}, {}}, other, folder_.path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr("power limit 300 W"));
}

TEST_F(HoldTest, WhatAnEarlierProcessLeftIsNotTakenForWhatWas) {
  {
    Claim left = Claim::take(folder_.path(), "GPU-played").value();
    ASSERT_TRUE(left.write({1, {300000, {}, {}}, {"GPU-played", "GPU-played", 450000, true, false}, true}));
  }
  values_.limit_mw = 300000;
  EXPECT_FALSE(read_records(folder_.path()).at(0).held);
  { ASSERT_TRUE(take({200000, {}, {}})); }
  EXPECT_EQ(values_.limit_mw, 450000);
}

TEST_F(HoldTest, WithoutAFolderForRecordsItHoldsAndWarns) {
  Result<ScopedSetting> hold = ScopedSetting::take(controls_, {300000, {}, {}}, guard_, "/proc/nowhere");
  ASSERT_TRUE(hold) << hold.error().message;
  EXPECT_THAT(hold->warning(), HasSubstr("/proc/nowhere"));
}

// A child that starts a guard, gives it orders, and ends in some way; returns the guard's last order.
std::string undone_after(const std::function<void(Guard&)>& end) {
  TemporaryFolder folder = TemporaryFolder::make().value();
  const std::string file = folder.path() + "/undone";
  int ends[2];  // closed when both the child and its guard are gone
  EXPECT_EQ(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    Guard guard = Guard::start([&](const std::string& order) { std::ofstream(file) << order; }).value();
    (void)guard.tell("first");
    (void)guard.tell("second");
    end(guard);
    _exit(0);
  }
  close(ends[1]);
  char nothing = 0;
  while (read(ends[0], &nothing, 1) > 0) continue;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return read_file(file).ok() ? *read_file(file) : "nothing";
}

TEST(Guard, UndoesTheLastOrderOfAProcessThatIsKilled) {
  EXPECT_EQ(undone_after([](Guard&) { raise(SIGKILL); }), "second");
  EXPECT_EQ(undone_after([](Guard&) { _exit(1); }), "second");
}

TEST(Guard, UndoesNothingAfterItsRelease) {
  EXPECT_EQ(undone_after([](Guard& guard) { guard.release(); }), "nothing");
}

TEST(Guard, SignalsToTheGroupDoNotReachIt) {
  EXPECT_EQ(undone_after([](Guard& guard) {
              for (int number : {SIGINT, SIGTERM, SIGHUP}) kill(guard.process(), number);
              raise(SIGKILL);
            }),
            "second");
}

TEST(Guard, ItsOwnEndIsNoticed) {
  Guard guard = Guard::start([](const std::string&) {}).value();
  EXPECT_TRUE(guard.alive());
  kill(guard.process(), SIGKILL);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(guard.process()), &info, WEXITED | WNOWAIT);
  EXPECT_FALSE(guard.alive());
  EXPECT_FALSE(guard.tell("anything"));
}

class PackagesTest : public ::testing::Test {
 protected:
  void zone(const std::string& zone, const std::string& name, int64_t limit_uw) {
    put(zone, "name", name);
    put(zone, "energy_uj", "1000");
    put(zone, "max_energy_range_uj", "262143328850");
    if (limit_uw > 0) put(zone, "constraint_0_power_limit_uw", std::to_string(limit_uw));
    if (limit_uw > 0) put(zone, "constraint_0_max_power_uw", "200000000");
  }
  void put(const std::string& zone, const std::string& name, const std::string& text) {
    const std::string path = folder_.path() + "/sys/class/powercap/" + zone + "/" + name;
    ASSERT_TRUE(write_file_atomically(path, text + "\n"));
  }
  std::string limit_of(const std::string& zone) {
    return *read_file(folder_.path() + "/sys/class/powercap/" + zone + "/constraint_0_power_limit_uw");
  }
  TemporaryFolder folder_ = TemporaryFolder::make().value();
};

TEST_F(PackagesTest, TheLimitIsSharedAmongThePackages) {
  zone("intel-rapl:0", "package-0", 150000000);
  zone("intel-rapl:1", "package-1", 150000000);
  zone("intel-rapl:0:0", "dram", 0);
  Result<std::unique_ptr<PowerControl>> packages = open_packages(folder_.path());
  ASSERT_TRUE(packages) << packages.error().message;
  EXPECT_EQ(*(*packages)->state()->limit_mw, 300000);
  EXPECT_EQ(*(*packages)->state()->limit_max_mw, 400000);
  ASSERT_TRUE((*packages)->set_limit(200000));
  EXPECT_EQ(limit_of("intel-rapl:1"), "100000000");
  EXPECT_EQ((*packages)->lock_clocks({1, 2}).error().code, Code::kUnsupported);
}

TEST_F(PackagesTest, EnergyIsThatOfWhatTheLimitIsOf) {
  zone("intel-rapl:0", "package-0", 150000000);
  zone("intel-rapl:0:0", "dram", 0);
  FakeClock clock;
  std::unique_ptr<PowerControl> packages = open_packages(folder_.path(), clock).value();
  put("intel-rapl:0", "energy_uj", "10001000");
  put("intel-rapl:0:0", "energy_uj", "5001000");
  clock.advance(std::chrono::milliseconds(49));
  Result<State> state = packages->state();
  EXPECT_EQ(*state->energy_mj, 10000) << "memory's 5 J are not under the package's limit";
  EXPECT_FALSE(state->power_mw) << "too soon";
  clock.advance(std::chrono::milliseconds(51));
  EXPECT_EQ(*packages->state()->power_mw, 100000) << "10 J in 0.1 s";
  put("intel-rapl:0", "energy_uj", "10501000");
  clock.advance(std::chrono::milliseconds(250));
  EXPECT_EQ(*packages->state()->power_mw, 2000);
}

TEST_F(PackagesTest, PackagesThatDifferGetBackWhatEachHad) {
  zone("intel-rapl:0", "package-0", 150000000);
  zone("intel-rapl:1", "package-1", 100000000);
  PowerControls controls;
  controls.push_back(open_packages(folder_.path()).value());
  Guard guard = Guard::start([](const std::string&) {}).value();
  {
    Result<ScopedSetting> hold = ScopedSetting::take(controls, {200000, {}, {}}, guard, folder_.path() + "/records");
    ASSERT_TRUE(hold) << hold.error().message;
    EXPECT_EQ(limit_of("intel-rapl:0"), "120000000");
  }
  EXPECT_EQ(limit_of("intel-rapl:0"), "150000000");
  EXPECT_EQ(limit_of("intel-rapl:1"), "100000000");
}

TEST_F(PackagesTest, WhereOneRefusesNoneIsChanged) {
  zone("intel-rapl:0", "package-0", 150000000);
  zone("intel-rapl:1", "package-1", 100000000);
  const std::string second = folder_.path() + "/sys/class/powercap/intel-rapl:1/constraint_0_power_limit_uw";
  // A number that cannot be written, not even by root.
  std::filesystem::remove(second);
  std::filesystem::create_symlink("/proc/sys/kernel/random/poolsize", second);
  std::unique_ptr<PowerControl> packages = open_packages(folder_.path()).value();
  EXPECT_FALSE(packages->set_limit(100000));
  EXPECT_EQ(limit_of("intel-rapl:0"), "150000000");
}

TEST_F(PackagesTest, AMachineWithoutRaplSaysSo) {
  EXPECT_EQ(open_packages(folder_.path()).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace ridge::power
