#include "limits/crew.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <set>

#include "machine/probe.h"

namespace ridge::limits {
namespace {

std::vector<int> allowed() { return machine::probe()->cpu.core_processors; }

TEST(Crew, MembersRunOnTheirOwnProcessors) {
  std::vector<int> processors = allowed();
  auto crew = Crew::gather(processors, std::vector<size_t>(processors.size(), 0));
  ASSERT_TRUE(crew.ok()) << crew.error().message;
  std::vector<int> seen(processors.size(), -1);
  (*crew)->run((*crew)->size(),
               [&](Crew::Member& member) { seen[static_cast<size_t>(member.index())] = sched_getcpu(); });
  EXPECT_EQ(seen, processors);
}

TEST(Crew, JobForFewerRunsOnTheFirstOnly) {
  std::vector<int> processors = allowed();
  auto crew = Crew::gather(processors, std::vector<size_t>(processors.size(), 0));
  ASSERT_TRUE(crew.ok());
  std::atomic<int> runs = 0, wrong = 0;
  for (int job = 0; job < 100; ++job)
    (*crew)->run(1, [&](Crew::Member& member) { ++runs, wrong += member.index() != 0; });
  EXPECT_EQ(runs, 100);
  EXPECT_EQ(wrong, 0);
}

TEST(Crew, NobodyStartsBeforeAllHaveArrived) {
  int processor = allowed().front();  // all on one: they can only take turns
  auto crew = Crew::gather({processor, processor, processor}, {0, 0, 0});
  ASSERT_TRUE(crew.ok());
  std::atomic<int> arrived = 0, early = 0;
  (*crew)->run(3, [&](Crew::Member& member) {
    for (int round = 1; round <= 20; ++round) {
      ++arrived;
      member.start_together();
      early += arrived < 3 * round;
    }
  });
  EXPECT_EQ(early, 0);
}

TEST(Crew, MembersHaveMemoryOfTheirOwn) {
  int processor = allowed().front();
  auto crew = Crew::gather({processor, processor}, {1 << 20, 0});
  ASSERT_TRUE(crew.ok());
  (*crew)->run(2,
               [&](Crew::Member& member) { EXPECT_EQ(member.memory().size(), member.index() == 0 ? 1u << 20 : 0u); });
}

TEST(Crew, ProcessorThatDoesNotExistIsAnError) {
  auto crew = Crew::gather({60000}, {0});
  ASSERT_FALSE(crew.ok());
  EXPECT_NE(crew.error().message.find("60000"), std::string::npos);
}

}  // namespace
}  // namespace ridge::limits
