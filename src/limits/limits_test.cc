#include "limits/limits.h"

#include <gtest/gtest.h>

#include <set>

#include "limits/memory_kernels.h"
#include "limits/peak_kernels.h"
#include "machine/probe.h"

namespace ridge::limits {
namespace {

constexpr int64_t kKiB = 1024, kMiB = 1024 * kKiB;

machine::Machine with_caches(std::vector<machine::Cache> caches) {
  machine::Machine machine;
  machine.cpu.caches = std::move(caches);
  machine.memory.available_bytes = 32 * 1024 * kMiB;
  return machine;
}

int64_t size_of(const std::vector<WorkingSet>& sets, const std::string& level) {
  for (const WorkingSet& set : sets)
    if (set.level == level) return set.bytes_per_thread;
  return 0;
}

TEST(WorkingSets, LieWithinTheirLevelAndOutsideOfTheNearerOne) {
  machine::Machine machine = with_caches({{1, 48 * kKiB, 2}, {2, kMiB, 2}, {3, 32 * kMiB, 1}});
  for (int threads : {1, 2}) {
    std::vector<WorkingSet> sets = working_sets(machine, threads);
    EXPECT_LE(size_of(sets, "L1"), 48 * kKiB * 2 / 3);
    EXPECT_GT(size_of(sets, "L2"), 2 * 48 * kKiB);
    EXPECT_LE(size_of(sets, "L2"), kMiB * 2 / 3);
    EXPECT_GE(size_of(sets, "L3"), 2 * kMiB);
    EXPECT_LE(size_of(sets, "L3") * threads, 24 * kMiB);
    EXPECT_GE(size_of(sets, "DRAM") * threads, 4 * 32 * kMiB);
  }
}

TEST(WorkingSets, L3SmallerThanTheL2sTogetherIsStillLeftBehindL2) {
  // A server with 2 MiB of L2 per core and 1.9 MiB of L3: the caches hold different lines.
  machine::Machine machine = with_caches({{1, 48 * kKiB, 16}, {2, 2 * kMiB, 16}, {3, 36 * kMiB, 1}});
  std::vector<WorkingSet> sets = working_sets(machine, 16);
  EXPECT_GT(size_of(sets, "L3"), 2 * kMiB);
  EXPECT_LT(size_of(sets, "L3"), 2 * kMiB + 36 * kMiB / 16);
}

TEST(WorkingSets, LevelsThatTheSystemHidesAreLeftOut) {
  std::vector<WorkingSet> sets = working_sets(with_caches({}), 4);
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0].level, "DRAM");
  EXPECT_GE(sets[0].bytes_per_thread * 4, 200 * kMiB);
}

TEST(WorkingSets, DramStaysFarBelowTheMemoryThatIsFree) {
  machine::Machine machine = with_caches({{1, 48 * kKiB, 1}, {2, kMiB, 1}, {3, 512 * kMiB, 1}});
  machine.memory.available_bytes = 400 * kMiB;
  EXPECT_LE(size_of(working_sets(machine, 1), "DRAM"), 100 * kMiB);
  machine.memory.limit_bytes = 200 * kMiB;
  EXPECT_LE(size_of(working_sets(machine, 1), "DRAM"), 25 * kMiB);
}

TEST(WorkingSets, TogetherTakeAQuarterOfTheFreeMemoryAtMost) {
  // Two CPUs of a virtual machine that reports the whole last-level cache of its host.
  machine::Machine machine = with_caches({{1, 48 * kKiB, 2}, {2, 2 * kMiB, 2}, {3, 480 * kMiB, 1}});
  machine.memory.available_bytes = 20 * 1024 * kMiB;
  const int64_t one_thread = size_of(working_sets(machine, 1), "DRAM"),
                of_two = size_of(working_sets(machine, 2), "DRAM");
  const int64_t mappings = 2;  // huge pages and ordinary ones
  EXPECT_LE(mappings * (one_thread + of_two), machine.memory.available_bytes / 4);
  EXPECT_GE(one_thread, 2 * 480 * kMiB);
}

TEST(WorkingSets, AreWholeStepsOfTheKernels) {
  for (const WorkingSet& set : working_sets(with_caches({{1, 32 * kKiB, 3}, {2, 300 * kKiB, 3}, {3, 7 * kMiB, 1}}), 3))
    EXPECT_EQ(set.bytes_per_thread % static_cast<int64_t>(kWorkingSetStep), 0) << set.level;
}

TEST(Limits, OfThisMachineHaveAPeakAndABandwidthForOneAndForAllThreads) {
  if (peak_kernels().empty()) GTEST_SKIP() << "no kernels for this architecture";
  Result<machine::Machine> machine = machine::probe();
  ASSERT_TRUE(machine.ok());
  RoundOptions options = cpu_rounds();
  options.least_rounds = 1;
  options.most_seconds = 0.1;  // one round: presence and order of magnitude, not accuracy
  double last_share = 0;
  options.progress = [&](const std::string&, double share) {
    EXPECT_GE(share, 0);
    EXPECT_LT(share, 1);
    last_share = share;
  };
  Result<Limits> limits = measure_limits(*machine, options);
  ASSERT_TRUE(limits.ok()) << limits.error().message;
  EXPECT_GT(last_share, 0);
  machine->peaks = limits->peaks;
  machine->bandwidths = limits->bandwidths;
  for (int threads : {1, machine::usable_threads(*machine)}) {
    std::optional<machine::Peak> fp32 = machine::peak(*machine, Precision::kFp32, threads);
    ASSERT_TRUE(fp32.has_value());
    EXPECT_EQ(fp32->origin, Origin::kMeasured);
    EXPECT_GT(fp32->flops_per_s, 1e8);
    EXPECT_GT(fp32->clock_hz, 1e8);
    std::optional<machine::Bandwidth> dram = machine::bandwidth(*machine, "DRAM", threads);
    ASSERT_TRUE(dram.has_value());
    EXPECT_GT(dram->bytes_per_s, 1e8);
    EXPECT_GT(dram->plain_bytes_per_s, 1e8);
    EXPECT_GT(dram->triad_bytes_per_s, 1e8);
  }
}

TEST(Limits, InterruptedThereAreNone) {
  const Result<machine::Machine> machine = machine::probe();
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  RoundOptions options = cpu_rounds();
  options.interrupted = [] { return true; };
  const Result<Limits> limits = measure_limits(*machine, options);
  ASSERT_FALSE(limits);
  EXPECT_EQ(limits.error().code, Code::kCancelled);
}

TEST(Limits, CpuWithoutKernelsIsAnErrorNotAZero) {
  machine::Machine machine;
  machine.cpu.model = "Strange 1";
  machine.cpu.isa = {"asimd"};
  Result<Limits> limits = measure_limits(machine);
  ASSERT_FALSE(limits.ok());
  EXPECT_EQ(limits.error().code, Code::kUnsupported);
}

}  // namespace
}  // namespace ridge::limits
