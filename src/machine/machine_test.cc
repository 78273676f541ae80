#include "machine/machine.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "machine/identity.h"

namespace ridge::machine {
namespace {

Machine example() {
  Machine machine;
  machine.cpu.model = "Example 9000";
  machine.cpu.vendor = "Nobody";
  machine.cpu.physical_cores = machine.cpu.allowed_cores = 8;
  machine.cpu.logical_cpus = machine.cpu.allowed_cpus = 16;
  machine.cpu.cpus = {0, 1, 2, 3};
  machine.cpu.core_cpus = {0, 2};
  machine.cpu.quota = 3.5;
  machine.cpu.isa = {"avx2", "fma"};
  machine.cpu.caches = {{1, 32768, 8}, {3, 1 << 25, 2}};
  machine.cpu.numa = {{0, int64_t{64} << 30, 16}};
  machine.memory = {int64_t{64} << 30, int64_t{60} << 30, int64_t{8} << 30};
  machine.system = "Linux 6.1.0";
  machine.measured_at = "2026-11-21T12:00:00Z";
  machine.peaks = {{Precision::kFp32, 1, 100e9, "fma", Origin::kMeasured, 1.5, 3e9},
                   {Precision::kFp32, 8, 600e9, "fma", Origin::kMeasured, 2.5, 2.5e9}};
  machine.bandwidths = {{"DRAM", 1, 20e9, 18e9, 25e9, "avx load", Origin::kMeasured, 1, 1 << 28},
                        {"DRAM", 8, 80e9, 70e9, 79e9, "avx load", Origin::kMeasured, 1, 1 << 28}};
  machine.id = machine_id(machine);
  return machine;
}

TEST(UsableThreads, AreAllowedCoresCappedByTheQuotaRoundedUp) {
  Machine machine = example();
  EXPECT_EQ(usable_threads(machine), 4);
  machine.cpu.quota = 2;
  EXPECT_EQ(usable_threads(machine), 2);
  machine.cpu.quota = 7.5;
  EXPECT_EQ(usable_threads(machine), 8);
  machine.cpu.quota = 0.5;
  EXPECT_EQ(usable_threads(machine), 1);
  machine.cpu.quota = 64;
  EXPECT_EQ(usable_threads(machine), 8);
  machine.cpu.quota.reset();
  EXPECT_EQ(usable_threads(machine), 8);
  machine.cpu.allowed_cores = 0;
  EXPECT_EQ(usable_threads(machine), 1);
}

TEST(QuotaFactor, IsWhatAFractionOfACpuTakes) {
  Machine machine = example();
  machine.cpu.quota = 1.5;
  EXPECT_EQ(quota_factor(machine, 1), 1);
  EXPECT_EQ(quota_factor(machine, 2), 0.75);
  EXPECT_EQ(quota_factor(machine, 4), 0.75);
  machine.cpu.quota = 0.5;
  EXPECT_EQ(quota_factor(machine, 1), 0.5);
  EXPECT_EQ(quota_factor(machine, 4), 0.5);
  machine.cpu.quota = 64;
  EXPECT_EQ(quota_factor(machine, 4), 1);
  EXPECT_EQ(quota_factor(machine, 16), 1) << "there are 8 cores";
  machine.cpu.quota.reset();
  EXPECT_EQ(quota_factor(machine, 4), 1);
}

TEST(Peak, MeasuredThreadCountIsReturnedAsMeasured) {
  std::optional<Peak> found = peak(example(), Precision::kFp32, 8);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->flops_per_s, 600e9);
  EXPECT_EQ(found->origin, Origin::kMeasured);
}

TEST(Peak, BetweenMeasuredCountsIsScaledFromFewerAndCappedByMore) {
  EXPECT_EQ(peak(example(), Precision::kFp32, 4)->flops_per_s, 400e9);
  EXPECT_EQ(peak(example(), Precision::kFp32, 7)->flops_per_s, 600e9);
  EXPECT_EQ(peak(example(), Precision::kFp32, 7)->origin, Origin::kDerived);
  EXPECT_EQ(peak(example(), Precision::kFp32, 7)->threads, 7);
}

TEST(Peak, MoreThreadsThanMeasuredGetNoMore) { EXPECT_EQ(peak(example(), Precision::kFp32, 32)->flops_per_s, 600e9); }

TEST(Peak, IsAbsentForUnitsThatTheMachineLacks) {
  EXPECT_FALSE(peak(example(), Precision::kBf16, 1).has_value());
  EXPECT_FALSE(peak(Machine{}, Precision::kFp32, 1).has_value());
}

TEST(Bandwidth, SaturatesAtTheEntryForAllThreads) {
  EXPECT_EQ(bandwidth(example(), "DRAM", 2)->bytes_per_s, 40e9);
  EXPECT_EQ(bandwidth(example(), "DRAM", 6)->bytes_per_s, 80e9);
  EXPECT_FALSE(bandwidth(example(), "L2", 1).has_value());
}

TEST(RidgePoint, IsPeakOverDramBandwidth) {
  EXPECT_DOUBLE_EQ(*ridge_point(example(), Precision::kFp32, 8), 7.5);
  EXPECT_FALSE(ridge_point(example(), Precision::kInt8, 8).has_value());
}

TEST(CacheCapacity, CountsInstancesThatThreadsCanReach) {
  EXPECT_EQ(cache_capacity(example(), 1, 4), 4 * 32768);
  EXPECT_EQ(cache_capacity(example(), 3, 1), 1 << 25);
  EXPECT_EQ(cache_capacity(example(), 3, 8), 2 << 25);
  EXPECT_EQ(cache_capacity(example(), 2, 8), 0);
}

TEST(MachineJson, ReadsBackWhatItWrote) {
  Json json = to_json(example());
  Result<Machine> back = from_json<Machine>(json);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(dump_json(to_json(*back)), dump_json(json));
  EXPECT_EQ(machine_id(*back), example().id);
}

TEST(MachineJson, AbsentLimitsStayAbsent) {
  Machine machine = example();
  machine.cpu.quota.reset();
  machine.memory.limit_bytes.reset();
  Result<Machine> back = from_json<Machine>(to_json(machine));
  ASSERT_TRUE(back.ok());
  EXPECT_FALSE(back->cpu.quota.has_value());
  EXPECT_FALSE(back->memory.limit_bytes.has_value());
}

TEST(MachineJson, RefusesDamagedMembersByName) {
  Json json = to_json(example());
  json["peaks"][0]["flops_per_s"] = 0;
  Result<Machine> machine = from_json<Machine>(json);
  ASSERT_FALSE(machine.ok());
  EXPECT_NE(machine.error().message.find("flops_per_s"), std::string::npos);
  for (const char* text : {"{}", "[]", "3", R"({"id":"x","system":"y","measured_at":"","cpu":3})"})
    EXPECT_FALSE(from_json<Machine>(*parse_json(text, "test")).ok()) << text;
}

TEST(MachineId, StaysWhileOnlyUseAndResultsChange) {
  Machine machine = example();
  machine.memory.available_bytes = 1;
  machine.memory.total_bytes = 2;  // grows and shrinks with memory hot-plug
  machine.peaks.clear();
  machine.cpu.cpus = {4, 5, 6, 7};
  EXPECT_EQ(machine_id(machine), example().id);
}

TEST(MachineId, ChangesWithWhatChangesTheLimits) {
  auto changed = [](auto change) {
    Machine machine = example();
    change(machine);
    return machine_id(machine);
  };
  const std::string id = example().id;
  EXPECT_NE(changed([](Machine& m) { m.cpu.model = "Example 9001"; }), id);
  EXPECT_NE(changed([](Machine& m) { m.cpu.quota = 2; }), id);
  EXPECT_NE(changed([](Machine& m) { m.cpu.quota.reset(); }), id);
  EXPECT_NE(changed([](Machine& m) { m.cpu.allowed_cores = 4; }), id);
  EXPECT_NE(changed([](Machine& m) { m.cpu.isa.push_back("avx512f"); }), id);
  EXPECT_NE(changed([](Machine& m) { m.cpu.caches[1].size_bytes *= 2; }), id);
  EXPECT_NE(changed([](Machine& m) { m.system = "Linux 6.2.0"; }), id);
}

TEST(MachineId, BeginsReadably) { EXPECT_TRUE(example().id.starts_with("example-9000-8c-")) << example().id; }

}  // namespace
}  // namespace ridge::machine
