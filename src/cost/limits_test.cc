#include <gtest/gtest.h>

#include <limits>
#include <tuple>

#include "cost/costs.h"

namespace ridge::cost {
namespace {

// Round figures: 100 GFLOP/s; L1 32 kB at 1000 GB/s, L2 1 MB at 200, L3 10 MB at 100, DRAM at 20.
DeviceLimits device() {
  DeviceLimits limits;
  limits.device = "test";
  limits.flops_per_s = {{Precision::kFp32, 100e9}};
  limits.levels = {{"L1", 1000e9, 32e3},
                   {"L2", 200e9, 1e6},
                   {"L3", 100e9, 10e6},
                   {"DRAM", 20e9, std::numeric_limits<double>::infinity()}};
  return limits;
}

TEST(Bound, OfArithmeticIsFlopsOverPeak) {
  Bound b = bound(1e9, 0, Precision::kFp32, device());
  EXPECT_DOUBLE_EQ(b.ms, 10);
  EXPECT_EQ(b.limiter, Limiter::kCompute);
}

TEST(Bound, ChargesALevelOnlyForWhatNearerLevelsCannotHold) {
  // 16 kB fit into L1: 16e3 / 1000e9.
  EXPECT_NEAR(bound(0, 16e3, Precision::kFp32, device()).ms, 16e-6, 1e-12);
  // 100 MB: DRAM carries all but 11.032 MB: 88.968e6 / 20e9 s.
  Bound b = bound(0, 100e6, Precision::kFp32, device());
  EXPECT_NEAR(b.ms, 4.4484, 1e-9);
  EXPECT_EQ(b.limiter, Limiter::kMemory);
  // 5 MB: L3 carries all but 1.032 MB: 3.968e6 / 100e9; that is more than L2's 4.968e6 / 200e9.
  EXPECT_NEAR(bound(0, 5e6, Precision::kFp32, device()).ms, 0.03968, 1e-9);
}

TEST(Limits, OfTheCpuNameTheKernelAndTheSpreadOfTheirThreads) {
  machine::Machine machine;
  machine.cpu.allowed_cores = 2;
  machine.peaks = {{Precision::kFp32, 1, 100e9, "one", Origin::kMeasured, 1.0},
                   {Precision::kFp32, 2, 180e9, "two", Origin::kMeasured, 2.0}};
  machine.bandwidths = {{"DRAM", 2, 40e9, 0, 0, "load", Origin::kMeasured, 3.0}};
  for (const auto& [threads, rate, by] : {std::tuple(1, 100e9, "one"), std::tuple(2, 180e9, "two")}) {
    const auto limits = limits_of(machine, threads);
    ASSERT_TRUE(limits);
    const std::vector<DeviceLimits::Source> sources = sources_of(machine, *limits);
    ASSERT_EQ(sources.size(), 2u);
    EXPECT_EQ(sources[0].what, "fp32");
    EXPECT_DOUBLE_EQ(sources[0].per_s, rate);
    EXPECT_EQ(sources[0].by, by);
    EXPECT_EQ(sources[0].origin, Origin::kMeasured);
    EXPECT_EQ(sources[1].what, "DRAM");
    EXPECT_DOUBLE_EQ(sources[1].spread_percent, 3);
  }
}

// An engine computes narrower data in FP32 where that is faster: no verb may call less a bound.
TEST(Limits, NoNarrowerPrecisionIsBoundedBelowFp32) {
  DeviceLimits limits;
  limits.flops_per_s = {
      {Precision::kFp64, 1e9}, {Precision::kFp32, 2e9}, {Precision::kBf16, 1e9}, {Precision::kInt8, 4e9}};
  const Rate bf16 = rate_of(limits, Precision::kBf16);
  EXPECT_EQ(bf16.flops_per_s, 2e9);
  EXPECT_EQ(bf16.peak, Precision::kFp32);
  EXPECT_NE(bf16.note.find("BF16 is slower than FP32"), std::string::npos) << bf16.note;
  EXPECT_EQ(rate_of(limits, Precision::kInt8).peak, Precision::kInt8);
  EXPECT_EQ(rate_of(limits, Precision::kFp64).flops_per_s, 1e9);
}

TEST(Limits, SayWhyTheyMayBeTooLow) {
  machine::Machine machine;
  machine.cpu.allowed_cores = 1;
  machine.peaks = {{Precision::kFp32, 1, 100e9, "one", Origin::kMeasured, 1.0},
                   {Precision::kBf16, 1, 200e9, "two", Origin::kMeasured, 38.0}};
  machine.bandwidths = {{"L3", 1, 80e9, 0, 0, "load", Origin::kMeasured, 90.0},
                        {"DRAM", 1, 40e9, 0, 0, "load", Origin::kMeasured, 3.0}};
  EXPECT_TRUE(notes(*limits_of(machine, 1), {Precision::kFp32}).empty());
  const std::vector<std::string> bf16 = notes(*limits_of(machine, 1), {Precision::kBf16});
  ASSERT_EQ(bf16.size(), 1U);
  EXPECT_TRUE(bf16[0].starts_with("the limit of bf16 is uncertain, ± 38")) << bf16[0];
  machine.disturbance = machine::Disturbance{.seconds = 5, .cpus = 2, .share_of_cpu_got = 0.5, .waited_s = 5};
  const std::vector<std::string> busy = notes(*limits_of(machine, 1), {Precision::kFp32});
  ASSERT_EQ(busy.size(), 1U);
  EXPECT_TRUE(busy[0].starts_with("the machine was busy when its limits were measured")) << busy[0];
}

TEST(BoundShares, NameThePrecisionsAndThePeaksThatBoundThem) {
  DeviceLimits limits;
  limits.flops_per_s = {{Precision::kFp32, 1e9}, {Precision::kBf16, 5e8}, {Precision::kInt8, 4e9}};
  Costs costs;
  for (const auto& [precision, flops] :
       {std::pair(Precision::kInt8, 6e9), {Precision::kFp32, 1e9}, {Precision::kBf16, 5e8}}) {
    NodeCost node;
    node.precision = precision;
    node.flops = node.needed_flops = flops;
    costs.nodes.push_back(node);
  }
  const std::vector<BoundShare> shares = arithmetic_of(costs, limits);
  ASSERT_EQ(shares.size(), 3U);
  EXPECT_EQ(shares[0].precision, Precision::kInt8);
  EXPECT_DOUBLE_EQ(shares[0].percent, 50);
  EXPECT_EQ(shares[2].precision, Precision::kBf16);
  EXPECT_EQ(shares[2].peak, Precision::kFp32);
  EXPECT_EQ(precisions_text(shares, Precision::kFp64), "int8, fp32, bf16");
  EXPECT_EQ(precisions_text({}, Precision::kFp64), "fp64");
}

TEST(Bound, IsNotKnownWhereShapesOrDataHideMostOfTheArithmetic) {
  Costs costs;
  costs.compulsory_read = 1000;
  NodeCost add;
  add.flops = 10;
  costs.nodes = {add, add};
  EXPECT_GT(bound(costs, device()).ms, 0);
  NodeCost product;
  product.kernel = KernelFamily::kMatMul;
  product.shapes_known = false;
  costs.nodes = {add, product};
  EXPECT_EQ(bound(costs, device()).ms, 0);
  costs.nodes = {add, add, product};
  EXPECT_GT(bound(costs, device()).ms, 0) << "less than half is hidden";
  NodeCost of_data = add;  // counted at its most, and left out of the bound
  of_data.macs = 1e9;
  costs.macs = 1e9;
  costs.nodes = {of_data};
  EXPECT_EQ(bound(costs, device()).ms, 0);
}

TEST(Bound, TakesTheLargerOfReadAndWritten) {
  NodeCost node;
  node.bytes_read = 100e6;
  node.bytes_written = 60e6;
  EXPECT_DOUBLE_EQ(bound(node, device()).ms, bound(0, 100e6, Precision::kFp32, device()).ms);
}

TEST(Bound, CountsOnlyNeededFlops) {
  NodeCost node;
  node.flops = 1e9;
  node.needed_flops = 5e8;
  EXPECT_DOUBLE_EQ(bound(node, device()).compute_ms, 5);
}

TEST(Bound, OfNothingIsUnknown) { EXPECT_EQ(bound(0, 0, Precision::kFp32, device()).limiter, Limiter::kUnknown); }

TEST(Bound, OfAModelAddsArithmeticPerPrecisionAgainstCompulsoryBytes) {
  DeviceLimits limits = device();
  limits.flops_per_s.emplace_back(Precision::kInt8, 400e9);
  Costs costs;
  costs.nodes.resize(2);
  costs.nodes[0].needed_flops = 1e9;
  costs.nodes[1].needed_flops = 4e9;
  costs.nodes[1].precision = Precision::kInt8;
  costs.compulsory_read = 31.032e6;  // 20 MB more than the caches hold: 1 ms
  Bound b = bound(costs, limits);
  EXPECT_DOUBLE_EQ(b.compute_ms, 20);
  EXPECT_NEAR(b.memory_ms, 1, 1e-9);
  EXPECT_DOUBLE_EQ(b.ms, 20);
}

TEST(Rate, WithoutUnitsIsACeilingAndSaysSo) {
  DeviceLimits limits = device();
  EXPECT_DOUBLE_EQ(rate_of(limits, Precision::kFp32).flops_per_s, 100e9);
  EXPECT_TRUE(rate_of(limits, Precision::kFp32).note.empty());
  EXPECT_DOUBLE_EQ(rate_of(limits, Precision::kBf16).flops_per_s, 100e9);
  EXPECT_NE(rate_of(limits, Precision::kBf16).note.find("no bf16 peak"), std::string::npos);
  EXPECT_DOUBLE_EQ(rate_of(limits, Precision::kInt8).flops_per_s, 400e9);
  limits.flops_per_s.emplace_back(Precision::kBf16, 150e9);
  EXPECT_DOUBLE_EQ(rate_of(limits, Precision::kFp8).flops_per_s, 150e9);
  EXPECT_DOUBLE_EQ(rate_of(DeviceLimits{}, Precision::kFp32).flops_per_s, 0);
}

machine::Machine machine() {
  machine::Machine m;
  m.cpu.model = "test";
  m.cpu.allowed_cores = m.cpu.allowed_cpus = 8;
  m.cpu.caches = {{1, 32768, 8}, {2, 1 << 20, 8}, {3, 32 << 20, 1}};
  for (auto [threads, rate] : {std::pair{1, 100e9}, std::pair{8, 640e9}}) {
    machine::Peak peak;
    peak.threads = threads;
    peak.flops_per_s = rate;
    m.peaks.push_back(peak);
  }
  for (auto [level, threads, rate] :
       {std::tuple{"L1", 1, 400e9}, std::tuple{"DRAM", 1, 20e9}, std::tuple{"DRAM", 8, 50e9}}) {
    machine::Bandwidth bandwidth;
    bandwidth.level = level;
    bandwidth.threads = threads;
    bandwidth.bytes_per_s = rate;
    m.bandwidths.push_back(bandwidth);
  }
  return m;
}

TEST(Limits, AreTheMeasuredOnesForThatManyThreads) {
  DeviceLimits one = *limits_of(machine(), 1), all = *limits_of(machine(), 8);
  EXPECT_DOUBLE_EQ(rate_of(one, Precision::kFp32).flops_per_s, 100e9);
  EXPECT_DOUBLE_EQ(rate_of(all, Precision::kFp32).flops_per_s, 640e9);
  EXPECT_DOUBLE_EQ(all.levels.back().bytes_per_s, 50e9);
  EXPECT_EQ(all.levels.back().name, "DRAM");
}

TEST(Limits, BetweenMeasurementsAreNeverBelowWhatTheMachineCanDo) {
  // 4 threads may clock like one: 4 · 100, not the 331 of a straight line.
  EXPECT_DOUBLE_EQ(rate_of(*limits_of(machine(), 4), Precision::kFp32).flops_per_s, 400e9);
  EXPECT_DOUBLE_EQ(rate_of(*limits_of(machine(), 7), Precision::kFp32).flops_per_s, 640e9);
  EXPECT_DOUBLE_EQ(limits_of(machine(), 4)->levels.back().bytes_per_s, 50e9);
}

TEST(Limits, DoNotRiseWithMoreThreadsThanCores) {
  EXPECT_DOUBLE_EQ(rate_of(*limits_of(machine(), 64), Precision::kFp32).flops_per_s, 640e9);
}

TEST(Limits, OfAnUnmeasuredMachineAreAnErrorThatSaysWhatToDo) {
  Result<DeviceLimits> limits = limits_of(machine::Machine{}, 1);
  ASSERT_FALSE(limits);
  EXPECT_NE(limits.error().message.find("ridge bench device"), std::string::npos);
  EXPECT_FALSE(limits_of(machine(), 0));
}

TEST(Notes, SayWhatTheBoundHadToAssume) {
  Costs costs;
  costs.nodes.resize(1);
  costs.nodes[0].needed_flops = 1;
  costs.nodes[0].precision = Precision::kInt8;
  costs.without_rule = {"com.example.Foo × 2"};
  costs.unknown_shapes = {"a"};
  std::vector<std::string> sentences = notes(costs, device());
  ASSERT_EQ(sentences.size(), 3u);
  EXPECT_NE(sentences[0].find("int8"), std::string::npos);
  EXPECT_NE(sentences[1].find("com.example.Foo × 2"), std::string::npos);
  EXPECT_NE(sentences[2].find("lower bound"), std::string::npos);
}

}  // namespace
}  // namespace ridge::cost
