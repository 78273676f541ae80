#include "tune/store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "base/temporary_folder.h"

namespace ridge::tune {
namespace {

namespace fs = std::filesystem;

class StoreTest : public ::testing::Test {
 protected:
  static Trial trial(double rows_per_s) {
    Trial trial;
    trial.rate_log_ratios = {0.1, 0.25};
    trial.latency_log_ratios = {-0.1};
    trial.candidate.rows_per_s = rows_per_s;
    trial.candidate.latency_ms.p99 = 12.5;
    trial.candidate.samples = 40;
    trial.baseline.latency_ms.p50 = 7;
    trial.seconds = 1.5;
    return trial;
  }

  TemporaryFolder temporary_ = *TemporaryFolder::make();
  fs::path folder_ = temporary_.path();
  std::string file_ = (folder_ / "tune.sqlite").string();
  StoreKey key_{"machine", "onnxruntime 1.31", "0123", "x=[1,16]"};
  Candidate candidate_{.threads = 2, .instances = 1, .batch = 4};
};

TEST_F(StoreTest, FindsWhatAnEarlierRunKept) {
  Store(file_, key_).keep(candidate_, 0, trial(123));
  Store later(file_, key_);
  std::optional<Trial> found = later.find(candidate_, 0);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->candidate.rows_per_s, 123);
  EXPECT_EQ(found->candidate.latency_ms.p99, 12.5);
  EXPECT_EQ(found->candidate.samples, 40);
  EXPECT_EQ(found->baseline.latency_ms.p50, 7);
  EXPECT_EQ(found->rate_log_ratios, (std::vector<double>{0.1, 0.25}));
  EXPECT_EQ(found->seconds, 1.5);
  EXPECT_FALSE(later.find(candidate_, 1)) << "the second measurement of it was not kept";
}

TEST_F(StoreTest, KeepsNothingWhereThereIsNoCacheFolder) {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  const std::string cache_before = cache ? cache : "", home_before = home ? home : "";
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(default_store_path(), "");
  Store store("", key_);
  if (cache) setenv("XDG_CACHE_HOME", cache_before.c_str(), 1);
  if (home) setenv("HOME", home_before.c_str(), 1);
  EXPECT_FALSE(store.usable());
  store.keep(candidate_, 0, trial(123));
  EXPECT_FALSE(store.find(candidate_, 0));
}

TEST_F(StoreTest, KeepsNothingAcrossMachineEngineModelOrShape) {
  Store(file_, key_).keep(candidate_, 0, trial(123));
  for (std::string StoreKey::*part : {&StoreKey::machine, &StoreKey::engine, &StoreKey::model, &StoreKey::shapes}) {
    StoreKey other = key_;
    other.*part += "'";
    EXPECT_FALSE(Store(file_, other).find(candidate_, 0));
  }
  Candidate other = candidate_;
  other.spin = plan::Spin::kOff;
  EXPECT_FALSE(Store(file_, key_).find(other, 0));
}

TEST_F(StoreTest, KeepsTheTrialsOfAVariantForItsFileOnly) {
  StoreKey key = key_;
  key.implementations = {{}, {.variant = "int8", .identity = "89ab"}};
  Candidate int8 = candidate_;
  int8.variant = "int8";
  Store(file_, key).keep(int8, 0, trial(1));
  Store(file_, key).keep(candidate_, 0, trial(2));
  EXPECT_TRUE(Store(file_, key).find(int8, 0));
  key.implementations[1].identity = "cdef";  // calibrated again
  EXPECT_FALSE(Store(file_, key).find(int8, 0));
  EXPECT_TRUE(Store(file_, key).find(candidate_, 0)) << "the model as given is the same";
}

TEST_F(StoreTest, ClearForgetsOnlyItsOwnKey) {
  StoreKey other = key_;
  other.model = "4567";
  Store(file_, other).keep(candidate_, 0, trial(1));
  Store store(file_, key_);
  store.keep(candidate_, 0, trial(2));
  store.clear();
  EXPECT_FALSE(store.find(candidate_, 0));
  EXPECT_TRUE(Store(file_, other).find(candidate_, 0));
}

TEST_F(StoreTest, CorruptFileCostsOneWarningAndNothingElse) {
  std::ofstream(file_) << "this is not a database, it is a text that is long enough to be taken for a header";
  ::testing::internal::CaptureStderr();
  Store store(file_, key_);
  store.keep(candidate_, 0, trial(1));
  EXPECT_FALSE(store.find(candidate_, 0));
  std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find(file_), std::string::npos) << said;
  EXPECT_EQ(said.find("tuning store"), said.rfind("tuning store")) << said;
  EXPECT_FALSE(store.usable());
}

TEST_F(StoreTest, DamagedPageIsNoticed) {
  {
    Store store(file_, key_);
    for (int i = 0; i < 200; ++i) store.keep(candidate_, i, trial(i));
  }
  std::fstream damage(file_, std::ios::in | std::ios::out | std::ios::binary);
  damage.seekp(4096 + 8);
  damage << std::string(3000, '\xff');
  damage.close();
  EXPECT_FALSE(Store(file_, key_).usable());
}

TEST_F(StoreTest, PlaceThatCannotBeWrittenCostsOnlyAWarning) {
  Store store("/proc/self/ridge/tune.sqlite", key_);
  store.keep(candidate_, 0, trial(1));
  EXPECT_FALSE(store.usable());
  EXPECT_FALSE(Store(folder_.string(), key_).usable()) << "a folder is no store";
}

TEST_F(StoreTest, NewerSchemaIsLeftAlone) {
  { Store store(file_, key_); }
  // PRAGMA user_version is the big-endian number at byte 60 of the file (sqlite.org/fileformat2.html, 1.3).
  std::fstream header(file_, std::ios::in | std::ios::out | std::ios::binary);
  header.seekp(63);
  header.put(99);
  header.close();
  fs::file_time_type before = fs::last_write_time(file_);
  EXPECT_FALSE(Store(file_, key_).usable());
  EXPECT_EQ(fs::last_write_time(file_), before);
}

TEST_F(StoreTest, UnreadableEntryIsMeasuredAgainAndReplaced) {
  Store store(file_, key_);
  Trial broken = trial(1);
  broken.seconds = std::numeric_limits<double>::quiet_NaN();  // JSON has no NaN: written as null
  store.keep(candidate_, 0, broken);
  EXPECT_FALSE(store.find(candidate_, 0));
  store.keep(candidate_, 0, trial(2));
  EXPECT_TRUE(store.find(candidate_, 0));
}

TEST_F(StoreTest, TwoRunsAtOnceKeepAllTheirResults) {
  constexpr int kEach = 60;
  std::atomic<bool> usable = true;
  auto work = [&](int first) {
    Store store(file_, key_);
    for (int i = first; i < 2 * kEach; i += 2) store.keep(candidate_, i, trial(i));
    usable = usable && store.usable();
  };
  {
    std::jthread one(work, 0);
    std::jthread two(work, 1);
  }
  EXPECT_TRUE(usable);
  Store store(file_, key_);
  for (int i = 0; i < 2 * kEach; ++i) EXPECT_TRUE(store.find(candidate_, i)) << i;
}

TEST_F(StoreTest, RunsThatBeginTogetherOnANewFileAllUseIt) {
  constexpr int kRuns = 8;
  for (int round = 0; round < 20; ++round) {
    std::string file = file_ + std::to_string(round);
    std::barrier together(kRuns);
    std::atomic<int> usable = 0;
    {
      std::vector<std::jthread> runs;
      for (int i = 0; i < kRuns; ++i)
        runs.emplace_back([&] {
          together.arrive_and_wait();
          usable += Store(file, key_).usable() ? 1 : 0;
        });
    }
    EXPECT_EQ(usable, kRuns);
  }
}

}  // namespace
}  // namespace ridge::tune
