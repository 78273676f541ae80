#include "power/held_limit.h"

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

class HeldLimitTest : public ::testing::Test {
 protected:
  Guard guard_ = Guard::start([](const std::string&) {}).value();
  PlayedGpu::Values values_;
  PlayedGpu gpu_{values_};
};

TEST_F(HeldLimitTest, WhatWasIsRestoredAndNothingElse) {
  {
    Result<HeldLimit> held = HeldLimit::take(gpu_, guard_);
    ASSERT_TRUE(held) << held.error().message;
    EXPECT_THAT(values_.changes, IsEmpty());
    ASSERT_TRUE(gpu_.set_limit(300000));
  }
  EXPECT_THAT(values_.changes, ElementsAre("limit 300", "limit 450"));
}

TEST_F(HeldLimitTest, WhatCannotBeRestoredIsNamed) {
  Result<HeldLimit> held = HeldLimit::take(gpu_, guard_);
  ASSERT_TRUE(held);
  values_.changes_left = 0;
  const Status restored = held->restore();
  ASSERT_FALSE(restored);
  EXPECT_THAT(restored.error().message,
              HasSubstr("GPU-played is not restored (power limit 450 W): GPU-played is lost"));
  EXPECT_TRUE(held->restore()) << "the second time does nothing";
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
  std::unique_ptr<PowerControl> packages = open_packages(folder_.path()).value();
  Guard guard = Guard::start([](const std::string&) {}).value();
  {
    Result<HeldLimit> held = HeldLimit::take(*packages, guard);
    ASSERT_TRUE(held) << held.error().message;
    ASSERT_TRUE(packages->set_limit(200000));
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
