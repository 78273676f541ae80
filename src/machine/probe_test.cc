#include "machine/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "base/temporary_folder.h"
#include "machine/topology.h"
#include "machine/tree.h"

namespace ridge::machine {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

// Probes tests/machines/<name>.tree.
Machine probe_recorded(const std::string& name) {
  Result<TemporaryFolder> folder = TemporaryFolder::make();
  Result<Tree> tree = read_tree(std::string(RIDGE_SOURCE_DIR) + "/tests/machines/" + name + ".tree");
  EXPECT_TRUE(tree.ok() && folder.ok() && unpack_tree(*tree, folder->path()).ok()) << name;
  Result<Machine> machine = probe(folder->path());
  EXPECT_TRUE(machine.ok());
  return machine ? *machine : Machine{};
}

TEST(Probe, SmallestQuotaOnThePathOfNestedGroupsCounts) {
  Machine machine = probe_recorded("xeon-amx-pod");
  EXPECT_EQ(machine.cpu.quota, 2.5);
  EXPECT_EQ(machine.memory.limit_bytes, int64_t{4} << 30);
}

TEST(Probe, SiblingsOfOneCoreCountOnce) {
  Machine machine = probe_recorded("xeon-amx-pod");
  EXPECT_EQ(machine.cpu.logical_cpus, 8);
  EXPECT_EQ(machine.cpu.physical_cores, 4);
  EXPECT_EQ(machine.cpu.allowed_cpus, 4);
  EXPECT_EQ(machine.cpu.allowed_cores, 4);
  EXPECT_THAT(machine.cpu.core_cpus, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(usable_threads(machine), 3);
}

TEST(Probe, CachesAreThoseOfAllowedCpusWithoutInstructions) {
  Machine machine = probe_recorded("xeon-amx-pod");
  ASSERT_EQ(machine.cpu.caches.size(), 3u);
  EXPECT_EQ(machine.cpu.caches[0].size_bytes, 48 * 1024);
  EXPECT_EQ(machine.cpu.caches[0].instances, 4);
  EXPECT_EQ(machine.cpu.caches[2].size_bytes, 107520 * 1024);
  EXPECT_EQ(machine.cpu.caches[2].instances, 2);
  ASSERT_EQ(machine.cpu.numa.size(), 2u);
  EXPECT_EQ(machine.cpu.numa[1].memory_bytes, int64_t{16} << 30);
  EXPECT_EQ(machine.cpu.numa[1].cpus, 2);
}

TEST(Probe, NamesCpuIsaAndSystem) {
  Machine machine = probe_recorded("xeon-amx-pod");
  EXPECT_EQ(machine.cpu.model, "Intel(R) Xeon(R) Platinum 8480+");
  EXPECT_EQ(machine.cpu.vendor, "GenuineIntel");
  EXPECT_THAT(machine.cpu.isa, Contains("amx_int8"));
  EXPECT_THAT(machine.cpu.isa, Contains("sse4.2"));
  EXPECT_EQ(machine.system, "Linux 6.8.0-45-generic (Ubuntu 24.04.1 LTS)");
  EXPECT_EQ(machine.memory.total_bytes, int64_t{32} << 30);
}

TEST(Probe, ReadsQuotaOfVersion1GroupMountedInAContainer) {
  Machine machine = probe_recorded("haswell-docker-v1");
  EXPECT_EQ(machine.cpu.quota, 0.5);
  EXPECT_EQ(usable_threads(machine), 1);
  EXPECT_FALSE(machine.memory.limit_bytes.has_value());
}

TEST(Probe, AffinityBeyondOnlineCpusIsCutToThem) {
  Machine machine = probe_recorded("haswell-docker-v1");
  EXPECT_EQ(machine.cpu.allowed_cpus, 4);
  EXPECT_THAT(machine.cpu.isa, Not(Contains("avx512f")));
}

TEST(Probe, OfflineCpusAreNotThere) {
  Machine machine = probe_recorded("offline-cores");
  EXPECT_THAT(machine.cpu.cpus, ElementsAre(0, 2, 5));
  EXPECT_EQ(machine.cpu.allowed_cores, 3);
  EXPECT_THAT(machine.cpu.caches, IsEmpty());
  EXPECT_FALSE(machine.cpu.quota.has_value());
  EXPECT_FALSE(machine.memory.limit_bytes.has_value());
}

TEST(Probe, DamagedFilesLeaveWhatIsReadable) {
  Machine machine = probe_recorded("damaged");
  EXPECT_THAT(machine.cpu.cpus, ElementsAre(0, 1));
  EXPECT_EQ(machine.cpu.allowed_cores, 2);
  EXPECT_EQ(machine.cpu.model, "unknown CPU");
  EXPECT_FALSE(machine.cpu.quota.has_value());
  EXPECT_FALSE(machine.memory.limit_bytes.has_value());
  EXPECT_EQ(machine.memory.total_bytes, 0);
}

TEST(Probe, NamesArmCpusByTheirNumbers) {
  Machine machine = probe_recorded("arm-server");
  EXPECT_EQ(machine.cpu.model, "Arm implementer 0x41 part 0xd4f");
  EXPECT_THAT(machine.cpu.isa, Contains("i8mm"));
}

TEST(Probe, TreeWithoutCpusIsAnErrorThatSaysWhereItLooked) {
  Result<Machine> machine = probe("/nothing-here");
  ASSERT_FALSE(machine.ok());
  EXPECT_EQ(machine.error().code, Code::kUnsupported);
  EXPECT_THAT(machine.error().message, testing::HasSubstr("nothing-here/proc/cpuinfo"));
}

TEST(Probe, ThisMachineIsDescribedAlikeByHwlocAndByItsFiles) {
  Result<Topology> files = topology_from_files("");
  if (!files) GTEST_SKIP() << files.error().message;
  Result<Topology> hwloc = topology_by_hwloc();
  ASSERT_TRUE(hwloc.ok());
  ASSERT_EQ(hwloc->cpus.size(), files->cpus.size());
  for (size_t i = 0; i < files->cpus.size(); ++i) EXPECT_EQ(hwloc->cpus[i].id, files->cpus[i].id);
}

TEST(Probe, ThisMachineHasWhatEveryMachineHas) {
  Result<Machine> machine = probe();
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  EXPECT_GE(machine->cpu.physical_cores, machine->cpu.allowed_cores);
  EXPECT_GE(machine->cpu.allowed_cores, 1);
  EXPECT_GE(machine->cpu.allowed_cpus, machine->cpu.allowed_cores);
  EXPECT_GT(machine->memory.total_bytes, int64_t{1} << 28);
  EXPECT_FALSE(machine->cpu.isa.empty());
  EXPECT_EQ(probe()->id, machine->id);
}

// The effect of `taskset` on a program.
TEST(Probe, FollowsTheAffinityOfTheProcess) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  Result<Machine> all = probe();
  ASSERT_TRUE(all.ok());
  int only = all->cpu.cpus.back();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(only, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  Result<Machine> narrowed = probe();
  sched_setaffinity(0, sizeof before, &before);
  ASSERT_TRUE(narrowed.ok());
  EXPECT_THAT(narrowed->cpu.cpus, ElementsAre(only));
  EXPECT_EQ(usable_threads(*narrowed), 1);
  EXPECT_EQ(narrowed->id == all->id, all->cpu.allowed_cpus == 1);
}

}  // namespace
}  // namespace ridge::machine
