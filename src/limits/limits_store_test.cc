#include "limits/limits_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/file.h"
#include "limits/limits_file.h"

namespace ridge::limits {
namespace {

class LimitsStore : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("ridge-store-" + std::to_string(getpid()));
    options_.cache_file = (folder_ / "deep" / "machine.json").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The FP32 peak known after the query, and whether it was measured for it.
  double ask(const std::string& id, double flops_per_s) {
    machine::Machine machine;
    machine.id = id;
    machine.memory.available_bytes = 1234;
    Result<machine::Machine> known =
        recall_or_measure(machine, options_, [&](const machine::Machine&) -> Result<Limits> {
          ++measured_;
          Limits limits;
          limits.peaks.push_back({Precision::kFp32, 1, flops_per_s, "kernel", Origin::kMeasured, 1, 3e9});
          limits.bandwidths.push_back({"DRAM", 1, 2e10, 2e10, 1e10, "kernel", Origin::kMeasured, spread_, 1 << 20});
          limits.disturbance.seconds = 5;
          limits.disturbance.cpus = 2;
          limits.disturbance.share_of_cpu_got = share_of_cpu_got_;
          limits.disturbance.waited_s = 10 * (1 - share_of_cpu_got_);
          return limits;
        });
    EXPECT_TRUE(known.ok());
    EXPECT_EQ(known->memory.available_bytes, 1234);  // facts are current, not from the file
    EXPECT_FALSE(known->measured_at.empty());
    return known->peaks.at(0).flops_per_s;
  }

  std::filesystem::path folder_;
  LimitOptions options_;
  int measured_ = 0;
  double spread_ = 1;            // of the bandwidth [%]
  double share_of_cpu_got_ = 1;  // while it was measured
};

TEST_F(LimitsStore, MeasuresOnceAndRecallsAfterwards) {
  EXPECT_EQ(ask("a", 1e9), 1e9);
  EXPECT_EQ(ask("a", 2e9), 1e9);
  EXPECT_EQ(measured_, 1);
}

TEST_F(LimitsStore, KeepsOneEntryPerMachine) {
  ask("a", 1e9);
  EXPECT_EQ(ask("b", 2e9), 2e9);
  EXPECT_EQ(ask("a", 3e9), 1e9);
  EXPECT_EQ(ask("b", 3e9), 2e9);
  EXPECT_EQ(measured_, 2);
}

TEST_F(LimitsStore, FreshMeasuresAgainAndReplaces) {
  ask("a", 1e9);
  options_.fresh = true;
  EXPECT_EQ(ask("a", 2e9), 2e9);
  options_.fresh = false;
  EXPECT_EQ(ask("a", 3e9), 2e9);
}

TEST_F(LimitsStore, ABusyMachineNeitherMeasuresAgainNorLowersWhatIsKnown) {
  share_of_cpu_got_ = 0.5;
  EXPECT_EQ(ask("a", 2e9), 2e9);
  EXPECT_EQ(ask("a", 3e9), 2e9);
  EXPECT_EQ(measured_, 1);
  options_.fresh = true;
  EXPECT_EQ(ask("a", 1e9), 2e9);
  EXPECT_EQ(ask("a", 3e9), 3e9);
  share_of_cpu_got_ = 1;
  EXPECT_EQ(ask("a", 2.5e9), 2.5e9) << "a quiet machine knows better";
  share_of_cpu_got_ = 0.5;
  EXPECT_EQ(ask("a", 1e9), 2.5e9);
  machine::Machine machine;
  machine.id = "a";
  ASSERT_TRUE(recall(machine, options_.cache_file));
  EXPECT_FALSE(machine::disturbed(machine.disturbance)) << "all figures are those of the quiet machine";
}

TEST_F(LimitsStore, SpreadAndDisturbanceAreKeptWithTheLimits) {
  spread_ = 137;
  ask("a", 1e9);
  machine::Machine machine;
  machine.id = "a";
  ASSERT_TRUE(recall(machine, options_.cache_file));
  ASSERT_TRUE(machine.disturbance);
  EXPECT_EQ(*machine.disturbance->share_of_cpu_got, 1);
  const std::vector<std::string> wide = machine::uncertain_limits(machine);
  ASSERT_EQ(wide.size(), 1U);
  EXPECT_TRUE(wide.front().starts_with("DRAM, 1 thread,")) << wide.front();
  EXPECT_NE(wide.front().find("137"), std::string::npos);
}

TEST_F(LimitsStore, AFileOfAnOlderVersionHasNoDisturbance) {
  ask("a", 1e9);
  Result<std::string> text = read_file(options_.cache_file);
  ASSERT_TRUE(text);
  Json store = Json::parse(*text);
  ASSERT_EQ(store["machines"]["a"].erase("disturbance"), 1U);
  ASSERT_TRUE(write_file_atomically(options_.cache_file, store.dump()));
  EXPECT_EQ(ask("a", 2e9), 1e9);
}

TEST_F(LimitsStore, DamagedFileIsMeasuredAgainAndRepaired) {
  for (const char* damage :
       {"", "not json", "{\"version\": 99, \"machines\": {}}", "{\"version\": 1, \"machines\": []}",
        "{\"version\": 1, \"machines\": {\"a\": {\"id\": \"a\"}}}", "[1]"}) {
    ASSERT_TRUE(write_file_atomically(options_.cache_file, damage).ok());
    measured_ = 0;
    EXPECT_EQ(ask("a", 1e9), 1e9) << damage;
    EXPECT_EQ(measured_, 1) << damage;
    EXPECT_EQ(ask("a", 2e9), 1e9) << damage;
    EXPECT_EQ(measured_, 1) << damage;
  }
}

TEST_F(LimitsStore, FileThatCannotBeWrittenCostsOnlyTheCache) {
  options_.cache_file = "/proc/nowhere/machine.json";
  EXPECT_EQ(ask("a", 1e9), 1e9);
  EXPECT_EQ(ask("a", 2e9), 2e9);
}

TEST_F(LimitsStore, FailureToMeasureIsPassedOnAndNothingIsKept) {
  Result<machine::Machine> known = recall_or_measure(
      machine::Machine{}, options_,
      [](const machine::Machine&) -> Result<Limits> { return Error{Code::kUnsupported, "no kernels"}; });
  ASSERT_FALSE(known.ok());
  EXPECT_EQ(known.error().message, "no kernels");
  EXPECT_FALSE(std::filesystem::exists(options_.cache_file));
}

TEST_F(LimitsStore, AnotherMayMeasureBetweenTheLookAndTheLock) {
  const std::string& file = options_.cache_file;
  std::optional<FileLock> lock;
  int looks = 0;
  EXPECT_TRUE(recalled_or_locked(file, lock_of(file), lock, [&] {
    if (++looks > 1) return true;
    EXPECT_TRUE(change_limits_file(file, [](Json&) {}));
    return false;
  }));
  EXPECT_EQ(looks, 2);
}

TEST_F(LimitsStore, AFileThatStaysIsReadOnce) {
  const std::string& file = options_.cache_file;
  std::optional<FileLock> lock;
  int looks = 0;
  EXPECT_FALSE(recalled_or_locked(file, lock_of(file), lock, [&] { return ++looks > 1; }));
  EXPECT_EQ(looks, 1);
}

TEST(DefaultCacheFile, FollowsTheEnvironment) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::optional<std::string> cache_before, home_before;
  if (cache) cache_before = cache;
  if (home) home_before = home;
  setenv("HOME", "/home/user", 1);
  setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(default_cache_file(), "/somewhere/ridge/machine.json");
  setenv("XDG_CACHE_HOME", "somewhere", 1);
  EXPECT_EQ(default_cache_file(), "/home/user/.cache/ridge/machine.json") << "a relative path is no folder of caches";
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(default_cache_file(), "/home/user/.cache/ridge/machine.json");
  unsetenv("HOME");
  EXPECT_EQ(default_cache_file(), "");
  if (cache_before) setenv("XDG_CACHE_HOME", cache_before->c_str(), 1);
  if (home_before) setenv("HOME", home_before->c_str(), 1);
}

}  // namespace
}  // namespace ridge::limits
