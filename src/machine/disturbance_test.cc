#include "machine/disturbance.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/temporary_folder.h"
#include "machine/tree.h"

namespace ridge::machine {
namespace {

struct Thread {
  int id = 0;
  double run_s = 0, wait_s = 0;
};
struct Process {
  int id = 0, parent = 0;
  std::string name;
  int ticks = 0, of_children = 0;  // of 10 ms
};

// Two CPUs, of which a recorded /proc says what they did until `at_s`.
struct Recorded {
  double at_s = 0;
  int busy = 0, steal = 0;  // of each CPU, in ticks of 10 ms
  std::vector<Thread> threads = {};
  std::vector<Process> processes = {};  // the first one is this process
  std::string more = {};
};

class DisturbanceTest : public testing::Test {
 protected:
  std::string root() const { return folder_.path(); }
  void record(const Recorded& r) {
    std::string text = fmt::format("=== proc/uptime: {} 1.0\n=== proc/self/status: Cpus_allowed_list: 0-1\n", r.at_s);
    text +=
        fmt::format("=== proc/stat\ncpu 9 9 9 9 9 9 9 9 9 9\ncpu0 {0} 0 0 7 0 0 0 {1} 0 0\ncpu1 {0} 0 0 7 0 0 0 {1}\n",
                    r.busy, r.steal);
    text += "cpu2 99999 0 0 7 0 0 0 9999 0 0\n";
    for (const Thread& t : r.threads)
      text += fmt::format("=== proc/self/task/{}/schedstat: {:.0f} {:.0f} 5\n", t.id, 1e9 * t.run_s, 1e9 * t.wait_s);
    for (const Process& p : r.processes) {
      const std::string stat = fmt::format("{} ({}) R {} 1 1 0 -1 0 0 0 0 0 {} 0 {} 0 20 0 1 0 5 1 1", p.id, p.name,
                                           p.parent, p.ticks, p.of_children);
      text += fmt::format("=== proc/{}/stat: {}\n", p.id, stat);
      if (p.id == r.processes.front().id) text += "=== proc/self/stat: " + stat + "\n";
    }
    std::filesystem::remove_all(root() + "/proc");
    ASSERT_TRUE(unpack_tree(parse_tree(text + r.more), root()));
  }

  TemporaryFolder folder_ = *TemporaryFolder::make();
};

TEST_F(DisturbanceTest, AQuietMachineGivesWhatIsAskedFor) {
  record({100, 1000, 0, {{7, 1, 0}}, {{7, 1, "ridge", 100}, {8, 1, "idle (one) x", 50}}});
  DisturbanceWatch watch(root());
  record({110, 2000, 0, {{7, 10.9, 0.1}, {9, 9.9, 0.1}}, {{7, 1, "ridge", 2080}, {8, 1, "idle (one) x", 90}}});
  const Disturbance d = watch.end();
  EXPECT_DOUBLE_EQ(d.seconds, 10);
  EXPECT_EQ(d.cpus, 2);
  EXPECT_NEAR(*d.share_of_cpu_got, 0.99, 1e-9);
  EXPECT_NEAR(d.other_cpus, 0.02, 1e-9);
  EXPECT_TRUE(d.others.empty());  // 0.04 of one
  EXPECT_FALSE(disturbed(d));
  EXPECT_EQ(sentence(d), "");
}

TEST_F(DisturbanceTest, NamesTheBusiestOfThoseThatTookTheTime) {
  record({100, 1000, 0, {{7, 1, 0}}, {{7, 1, "ridge", 100}, {8, 1, "make", 50}, {20, 8, "cc1plus", 300}}});
  DisturbanceWatch watch(root());
  // One of two compilers is new; the time of a third one, that has ended, is in that of the CPUs alone.
  record({110,
          2000,
          0,
          {{7, 1.9, 6.1}, {9, 0.3, 5.7}},
          {{7, 1, "ridge", 220},
           {8, 1, "make", 110},
           {20, 8, "cc1plus", 1100},
           {21, 8, "cc1plus", 600},
           {22, 1, "python3", 200},
           {23, 1, "sh", 9}}});
  const Disturbance d = watch.end();
  EXPECT_NEAR(*d.share_of_cpu_got, 1.2 / 13, 1e-9);
  EXPECT_NEAR(d.other_cpus, 1.88, 1e-9);
  ASSERT_EQ(d.others.size(), 3U);
  EXPECT_EQ(d.others[0].name, "cc1plus");
  EXPECT_NEAR(d.others[0].cpus, 1.4, 1e-9);
  EXPECT_EQ(d.others[1].name, "python3");
  EXPECT_EQ(d.others[2].name, "make");
  EXPECT_TRUE(disturbed(d));
  EXPECT_NE(sentence(d).find("9.2 %"), std::string::npos) << sentence(d);
  EXPECT_NE(sentence(d).find("cc1plus 1.4"), std::string::npos) << sentence(d);
}

// A build starts compilers one after the other; only the last one is there at the end.
TEST_F(DisturbanceTest, TheTimeOfProcessesThatEndedIsTheirParents) {
  record({100,
          1000,
          0,
          {{7, 1, 0}},
          {{7, 1, "ridge", 100}, {8, 1, "ninja", 50, 4000}, {20, 8, "g++", 10, 0}, {21, 20, "cc1plus", 290}}});
  DisturbanceWatch watch(root());
  // 300 ticks of the first compiler and its driver were used before, 90 after; then came others with 1000.
  record({110,
          2000,
          0,
          {{7, 2, 0}},
          {{7, 1, "ridge", 200}, {8, 1, "ninja", 60, 4000 + 390 + 1000}, {31, 8, "cc1plus", 200}}});
  const Disturbance d = watch.end();
  ASSERT_EQ(d.others.size(), 2U);
  EXPECT_EQ(d.others[0].name, "ninja");
  EXPECT_NEAR(d.others[0].cpus, (10 + 90 + 1000) / 1000.0, 1e-9);
  EXPECT_EQ(d.others[1].name, "cc1plus");
  EXPECT_NEAR(d.others[1].cpus, 0.2, 1e-9);
}

TEST_F(DisturbanceTest, ThreadsThatOutnumberTheCpusWaitForOneAnother) {
  record({100, 1000, 0, {{7, 0, 0}, {8, 0, 0}, {9, 0, 0}, {10, 0, 0}}, {{7, 1, "ridge", 0}}});
  DisturbanceWatch watch(root());
  record({110, 2000, 0, {{7, 5, 5}, {8, 5, 5}, {9, 5, 5}, {10, 4.9, 5.1}}, {{7, 1, "ridge", 1990}}});
  const Disturbance d = watch.end();
  EXPECT_NEAR(*d.share_of_cpu_got, 0.995, 1e-9);
  EXPECT_FALSE(disturbed(d));
}

TEST_F(DisturbanceTest, ShortWaitsOfAThreadThatMostlySleepsAreNone) {
  record({100, 1000, 0, {{7, 0, 0}}, {{7, 1, "ridge", 0}}});
  DisturbanceWatch watch(root());
  record({110,
          1030,
          0,
          {{7, 0.4, 0.2}},
          {{7, 1, "ridge", 40}}});  // 40 µs of run and 20 of wake-up, a thousand times a second
  const Disturbance d = watch.end();
  EXPECT_NEAR(*d.share_of_cpu_got, 2 / 3.0, 1e-9);
  EXPECT_FALSE(disturbed(d));
}

TEST_F(DisturbanceTest, ChildrenOfThisProcessAreNoOthers) {
  record({100, 1000, 0, {{7, 0, 0}}, {{7, 1, "ridge", 0, 0}, {30, 7, "load", 0}}});
  DisturbanceWatch watch(root());
  record({110, 1900, 0, {{7, 0.001, 0}}, {{7, 1, "ridge", 0, 700}, {30, 7, "load", 100}, {31, 30, "load", 1000}}});
  const Disturbance d = watch.end();
  EXPECT_FALSE(d.share_of_cpu_got);  // its own threads asked for next to nothing
  EXPECT_EQ(d.other_cpus, 0);
  EXPECT_TRUE(d.others.empty());
  EXPECT_FALSE(disturbed(d));
}

TEST_F(DisturbanceTest, ThreadsThatEndedCountUntilTheLastLook) {
  record({100, 1000, 0, {{7, 1, 0}}, {{7, 1, "ridge", 0}}});
  DisturbanceWatch watch(root());
  record({105, 1500, 0, {{7, 1, 0}, {8, 2, 2}}, {{7, 1, "ridge", 200}}});
  watch.look();
  record({110, 2000, 0, {{7, 1, 0}, {8, 1, 1}}, {{7, 1, "ridge", 300}}});  // a new one with the same number
  const Disturbance d = watch.end();
  EXPECT_NEAR(*d.share_of_cpu_got, 0.5, 1e-9);
}

TEST_F(DisturbanceTest, TheHostsTakingsAreDisturbance) {
  record({100, 1000, 10, {{7, 0, 0}}, {{7, 1, "ridge", 0}}});
  DisturbanceWatch watch(root());
  record({110, 1900, 110, {{7, 9, 0}}, {{7, 1, "ridge", 1800}}});
  const Disturbance d = watch.end();
  EXPECT_NEAR(d.steal_share, 0.1, 1e-9);
  EXPECT_EQ(*d.share_of_cpu_got, 1);
  EXPECT_TRUE(disturbed(d));
}

constexpr const char* kGroupV2 =
    "=== proc/self/cgroup: 0::/box\n=== proc/self/mountinfo: 1 2 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    "=== sys/fs/cgroup/box/cpu.max: 100000 100000\n=== sys/fs/cgroup/box/cpu.stat\nnr_throttled 9\nthrottled_usec {}\n";
constexpr const char* kGroupV1 =
    "=== proc/self/cgroup: 1:cpu:/box\n"
    "=== proc/self/mountinfo: 1 2 0:1 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "=== sys/fs/cgroup/cpu/box/cpu.cfs_quota_us: 100000\n=== sys/fs/cgroup/cpu/box/cpu.cfs_period_us: 100000\n"
    "=== sys/fs/cgroup/cpu/box/cpu.stat\nnr_throttled 9\nthrottled_time {}000\n";

TEST_F(DisturbanceTest, AProcessThatUsesItsQuotaIsThrottledButNotDisturbed) {
  for (const char* group : {kGroupV2, kGroupV1}) {
    record({100, 1000, 0, {{7, 0, 0}, {8, 0, 0}}, {{7, 1, "ridge", 0}}, fmt::format(fmt::runtime(group), 1000000)});
    DisturbanceWatch watch(root());
    record(
        {110, 1500, 0, {{7, 5, 5}, {8, 4.9, 5.1}}, {{7, 1, "ridge", 990}}, fmt::format(fmt::runtime(group), 9000000)});
    const Disturbance d = watch.end();
    EXPECT_EQ(d.cpus, 1);
    EXPECT_NEAR(d.throttled_s, 8, 1e-9);
    EXPECT_NEAR(*d.share_of_cpu_got, 0.99, 1e-9);
    EXPECT_FALSE(disturbed(d));
  }
}

TEST_F(DisturbanceTest, WithoutCountersNothingIsKnownAndNothingDisturbed) {
  DisturbanceWatch watch(root());
  watch.look();
  Disturbance d = watch.end();
  EXPECT_EQ(d.seconds, 0);
  d.mean_over_median = 9;
  EXPECT_FALSE(disturbed(d));
}

TEST_F(DisturbanceTest, AMeanFarAboveTheMedianIsTheSecondSign) {
  Disturbance d;
  d.seconds = 1;
  d.cpus = 2;
  d.mean_over_median = 1.4;
  EXPECT_FALSE(disturbed(d));
  d.mean_over_median = 3;
  EXPECT_TRUE(disturbed(d));
}

TEST_F(DisturbanceTest, IsReadBackAsItWasWritten) {
  Disturbance d;
  d.seconds = 2;
  d.cpus = 1.5;
  d.share_of_cpu_got = 0.25;
  d.waited_s = 1.5;
  d.throttled_s = 0.5;
  d.steal_share = 0.01;
  d.other_cpus = 1.1;
  d.others = {{"cc1plus", 1.1}};
  d.mean_over_median = 3;
  const Json json = json_of(d);
  EXPECT_EQ(json["disturbed"], true);
  const Result<Disturbance> back = from_json<Disturbance>(json);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(json_of(*back), json);
}

// On this machine's own counters: what they are is its affair, that they are read is ours.
TEST(DisturbanceWatchHere, ReadsTheThreadsOfThisProcess) { EXPECT_FALSE(read_threads("").empty()); }

}  // namespace
}  // namespace ridge::machine
