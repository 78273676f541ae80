#include "limits/pinned_threads.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <set>

#include "machine/probe.h"

namespace ridge::limits {
namespace {

std::vector<int> allowed() { return machine::probe()->cpu.core_cpus; }

TEST(PinnedThreads, MembersRunOnTheirOwnCpus) {
  std::vector<int> cpus = allowed();
  auto workers = PinnedThreads::gather(cpus, std::vector<size_t>(cpus.size(), 0));
  ASSERT_TRUE(workers.ok()) << workers.error().message;
  std::vector<int> seen(cpus.size(), -1);
  (*workers)->run((*workers)->size(),
                  [&](PinnedThreads::Worker& member) { seen[static_cast<size_t>(member.index())] = sched_getcpu(); });
  EXPECT_EQ(seen, cpus);
}

TEST(PinnedThreads, JobForFewerRunsOnTheFirstOnly) {
  std::vector<int> cpus = allowed();
  auto workers = PinnedThreads::gather(cpus, std::vector<size_t>(cpus.size(), 0));
  ASSERT_TRUE(workers.ok());
  std::atomic<int> runs = 0, wrong = 0;
  for (int job = 0; job < 100; ++job)
    (*workers)->run(1, [&](PinnedThreads::Worker& member) { ++runs, wrong += member.index() != 0; });
  EXPECT_EQ(runs, 100);
  EXPECT_EQ(wrong, 0);
}

TEST(PinnedThreads, NoWorkerStartsBeforeAllHaveArrived) {
  int cpu = allowed().front();  // all on one: they can only take turns
  auto workers = PinnedThreads::gather({cpu, cpu, cpu}, {0, 0, 0});
  ASSERT_TRUE(workers.ok());
  std::atomic<int> arrived = 0, early = 0;
  (*workers)->run(3, [&](PinnedThreads::Worker& member) {
    for (int round = 1; round <= 20; ++round) {
      ++arrived;
      member.start_together();
      early += arrived < 3 * round;
    }
  });
  EXPECT_EQ(early, 0);
}

TEST(PinnedThreads, MembersHaveMemoryOfTheirOwn) {
  int cpu = allowed().front();
  auto workers = PinnedThreads::gather({cpu, cpu}, {1 << 20, 0});
  ASSERT_TRUE(workers.ok());
  (*workers)->run(2, [&](PinnedThreads::Worker& member) {
    EXPECT_EQ(member.memory().size(), member.index() == 0 ? 1u << 20 : 0u);
  });
}

TEST(PinnedThreads, CpuThatDoesNotExistIsAnError) {
  auto workers = PinnedThreads::gather({60000}, {0});
  ASSERT_FALSE(workers.ok());
  EXPECT_NE(workers.error().message.find("60000"), std::string::npos);
}

}  // namespace
}  // namespace ridge::limits
