#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/test_facts.h"

namespace ridge::doctor {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string judged_cpu(std::string_view text, std::string_view id) { return found(judge_cpu(facts_of(text)), id); }

std::string governor(const std::string& governor, const std::string& driver, const std::string& preference = "") {
  std::string text = "=== sys/devices/system/cpu/cpu0/cpufreq/scaling_governor: " + governor +
                     "\n=== sys/devices/system/cpu/cpu0/cpufreq/scaling_driver: " + driver + "\n";
  if (!preference.empty())
    text += "=== sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference: " + preference + "\n";
  return judged_cpu(text, "cpu.governor");
}

TEST(CpuGovernor, LowestClockFailsOnlyWhereTheDriverDoesNotChooseItself) {
  EXPECT_THAT(governor("powersave", "acpi-cpufreq"), StartsWith("fail: 'powersave' on 1 CPU, driver acpi-cpufreq"));
  EXPECT_THAT(governor("powersave", "intel_pstate"), StartsWith("warn: "));
  EXPECT_THAT(governor("powersave", "amd-pstate-epp", "balance_performance"), StartsWith("warn: "));
  EXPECT_THAT(governor("powersave", "amd-pstate-epp", "performance"), StartsWith("ok: "));
  EXPECT_THAT(governor("schedutil", "acpi-cpufreq"), AllOf(StartsWith("warn: "), HasSubstr("cpupower")));
  EXPECT_THAT(governor("performance", "acpi-cpufreq"), StartsWith("ok: "));
}

TEST(CpuGovernor, MachineWithoutClockControlIsNotJudged) {
  EXPECT_THAT(judged_cpu("", "cpu.governor"), StartsWith("not_applicable: "));
}

TEST(CpuClock, LimitAndTurboSwitchedOffAreSeen) {
  EXPECT_THAT(judged_cpu("=== sys/devices/system/cpu/intel_pstate/no_turbo: 1\n", "cpu.clock_limit"),
              StartsWith("warn: turbo"));
  EXPECT_THAT(judged_cpu("=== sys/devices/system/cpu/cpufreq/boost: 0\n", "cpu.clock_limit"),
              StartsWith("warn: turbo"));
  const std::string limited =
      "=== sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq: 3500000\n"
      "=== sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq: 1200000\n";
  EXPECT_THAT(judged_cpu(limited, "cpu.clock_limit"), StartsWith("warn: 1.20 of 3.50 GHz"));
}

TEST(CpuLoad, NamesWhatElseRuns) {
  const std::string busy =
      "=== proc/loadavg: 0.20 0.10 0.10 1/100 7\n=== tools/others: "
      R"({"seconds": 2, "cpus": 4, "share_of_cpu_got": null, "waited_s": 0, "throttled_s": 0, "steal_share": 0, )"
      R"("other_cpus": 2.6, "others": [{"name": "cc1plus", "cpus": 1.4}, {"name": "python3", "cpus": 1.2}]})"
      "\n";
  EXPECT_THAT(judged_cpu(busy, "cpu.load"),
              AllOf(StartsWith("warn: 0.20 running"), HasSubstr("2.6 of 4 CPUs now: cc1plus 1.4, python3 1.2"),
                    HasSubstr("| stop these processes")));
  EXPECT_THAT(judged_cpu("=== proc/loadavg: 0.20 0.10 0.10 1/100 7\n", "cpu.load"), StartsWith("ok: 0.20 running"));
  EXPECT_THAT(judged_cpu("=== proc/loadavg: 8.00 0.10 0.10 1/100 7\n", "cpu.load"),
              AllOf(StartsWith("warn: 8.00"), HasSubstr("stop other work")));
}

TEST(CpuCommands, BelongToBadFindingsOnly) {
  const auto command = [](const std::string& governor) {
    for (const Finding& finding :
         judge_cpu(facts_of("=== sys/devices/system/cpu/cpu0/cpufreq/scaling_governor: " + governor + "\n")))
      if (finding.id == "cpu.governor") return finding.command;
    return std::string("not found");
  };
  EXPECT_EQ(command("schedutil"), "sudo cpupower frequency-set -g performance");
  EXPECT_EQ(command("performance"), "");
}

TEST(CpuHeat, CountsThrottling) {
  EXPECT_THAT(judged_cpu("=== sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count: 17\n", "cpu.heat"),
              StartsWith("warn: up to 17 times"));
  EXPECT_THAT(judged_cpu("=== sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count: 0\n", "cpu.heat"),
              StartsWith("ok: "));
}

TEST(CpuQuota, ThrottledPeriodsWarnWithTheirShare) {
  Facts facts = facts_of("=== sys/fs/cgroup/cpu.stat\nusage_usec 1\nnr_periods 1000\nnr_throttled 250\n");
  facts.machine->cpu.quota = 2;
  EXPECT_THAT(
      found(judge_cpu(facts), "cpu.quota"),
      AllOf(StartsWith("warn: 2 of 4 CPUs; throttled in 250 of 1000 periods (25 %)"), HasSubstr("at most 2 threads")));
  facts = facts_of("=== sys/fs/cgroup/cpu.stat\nnr_periods 1000\nnr_throttled 3\n");
  EXPECT_THAT(found(judge_cpu(facts), "cpu.quota"), StartsWith("ok: none; throttled in 3 of 1000"));
}

TEST(CpuThreads, VariableBeyondTheQuotaWarns) {
  Facts facts = facts_of("=== tools/environment\nOMP_NUM_THREADS=64\nLD_LIBRARY_PATH=/x\n");
  facts.machine->cpu.quota = 2;
  EXPECT_THAT(found(judge_cpu(facts), "cpu.threads"), StartsWith("warn: OMP_NUM_THREADS=64 where 2 can run"));
  EXPECT_THAT(judged_cpu("=== tools/environment: OMP_NUM_THREADS=4\n", "cpu.threads"),
              StartsWith("ok: OMP_NUM_THREADS=4"));
}

TEST(CpuNuma, NodeWithoutMemoryFailsAndUnequalNodesWarn) {
  Facts facts = facts_of("");
  facts.machine->cpu.numa = {{0, int64_t{32} << 30, 2}, {1, 0, 2}};
  EXPECT_THAT(found(judge_cpu(facts), "cpu.numa"), StartsWith("fail: 2 nodes, CPUs of 2 allowed, no memory at node 1"));
  facts.machine->cpu.numa = {{0, int64_t{64} << 30, 2}, {1, int64_t{32} << 30, 2}};
  EXPECT_THAT(found(judge_cpu(facts), "cpu.numa"), StartsWith("warn: "));
  facts.machine->cpu.numa = {{0, int64_t{64} << 30, 2}, {1, int64_t{64} << 30, 2}};
  EXPECT_THAT(found(judge_cpu(facts), "cpu.numa"), AllOf(StartsWith("ok: "), HasSubstr("one instance per node")));
}

TEST(CpuPages, NeverWarnsAndUnusedReservedPagesWarn) {
  const char* id = "cpu.transparent_huge_pages";
  EXPECT_THAT(judged_cpu("=== sys/kernel/mm/transparent_hugepage/enabled: always madvise [never]\n", id),
              StartsWith("warn: never"));
  EXPECT_THAT(judged_cpu("=== sys/kernel/mm/transparent_hugepage/enabled: always [madvise] never\n", id),
              StartsWith("ok: madvise"));
  const std::string reserved =
      "=== sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages: 8\n"
      "=== sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages: 8\n";
  EXPECT_THAT(judged_cpu(reserved, "cpu.huge_pages"), StartsWith("warn: 8.00 GiB reserved, 8.00 GiB unused"));
}

TEST(CpuSteal, ShareOfTheHostIsTheEighthNumber) {
  EXPECT_THAT(judged_cpu("=== proc/stat: cpu  700 0 100 100 0 0 0 100 0 0\n", "cpu.steal"),
              StartsWith("warn: 10.00 %"));
  EXPECT_THAT(judged_cpu("=== proc/stat: cpu  700 0 200 100 0 0 0 0 0 0\n", "cpu.steal"), StartsWith("ok: 0.00 %"));
  EXPECT_THAT(judged_cpu("=== proc/stat: nonsense\n", "cpu.steal"), StartsWith("not_applicable: "));
}

TEST(CpuLoad, OtherWorkWarns) {
  EXPECT_THAT(judged_cpu("=== proc/loadavg: 3.90 2.00 1.00 5/300 1\n", "cpu.load"), StartsWith("warn: 3.90"));
  EXPECT_THAT(judged_cpu("=== proc/loadavg: 0.10 2.00 1.00 5/300 1\n", "cpu.load"), StartsWith("ok: 0.10"));
}

TEST(CpuIsa, VirtualMachineThatHidesVectorsWarns) {
  Facts facts = facts_of("");
  facts.machine->cpu.isa = {"sse4.2"};
  EXPECT_THAT(found(judge_cpu(facts), "cpu.isa"), AllOf(StartsWith("warn: "), HasSubstr("AVX2")));
}

TEST(Cpu, NothingKnownIsNeitherFailureNorWarning) {
  for (const Finding& finding : judge_cpu(Facts{})) {
    EXPECT_TRUE(finding.verdict == Verdict::kOk || finding.verdict == Verdict::kNotApplicable) << finding.id;
  }
}

TEST(CpuLimits, AWideSpreadOrABusyMachineIsWarnedOf) {
  Facts facts = facts_of("");
  const auto limits = [&] { return found(judge_cpu(facts), "cpu.limits_spread"); };
  EXPECT_THAT(limits(), StartsWith("not_applicable: "));
  machine::Peak peak;
  peak.flops_per_s = 1e11;
  peak.spread_percent = 3;
  facts.machine->peaks = {peak};
  EXPECT_THAT(limits(), StartsWith("ok: "));
  machine::Bandwidth bandwidth;
  bandwidth.level = "DRAM";
  bandwidth.threads = 2;
  bandwidth.bytes_per_s = 45.3e9;
  bandwidth.spread_percent = 137;
  facts.machine->bandwidths = {bandwidth};
  EXPECT_THAT(limits(), AllOf(StartsWith("warn: DRAM, 2 threads"), HasSubstr("bench device --fresh")));
  facts.machine->bandwidths.clear();
  facts.machine->disturbance = machine::Disturbance{.seconds = 5, .cpus = 2, .share_of_cpu_got = 0.4, .waited_s = 6};
  EXPECT_THAT(limits(), StartsWith("warn: "));
}

}  // namespace
}  // namespace ridge::doctor
