#include "tune/space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace ridge::tune {
namespace {

// 8 cores: 10 GFLOP/s each, 20 GB/s of memory for all, 10 for one, no caches.
machine::Machine machine() {
  machine::Machine machine;
  machine.cpu.allowed_cpus = 8;
  machine.cpu.allowed_cores = 8;
  machine.memory.available_bytes = 16'000'000'000;
  for (int threads : {1, 8}) {
    machine::Peak peak;
    peak.threads = threads;
    peak.flops_per_s = 10e9 * threads;
    machine.peaks.push_back(peak);
    machine::Bandwidth memory;
    memory.level = "DRAM";
    memory.threads = threads;
    memory.bytes_per_s = threads == 1 ? 10e9 : 20e9;
    machine.bandwidths.push_back(memory);
  }
  return machine;
}

model::Node node(const std::string& name, std::vector<int> inputs, std::vector<int> outputs) {
  model::Node node;
  node.name = name;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

// One operator: 1 GFLOP and 1 MB of activations per row, 100 MB of weights.
cost::Costs costs(double rows) {
  cost::Costs costs;
  cost::NodeCost node;
  node.flops = node.needed_flops = 1e9 * rows;
  node.bytes_read = 100e6 + 1e6 * rows;
  costs.nodes = {node};
  costs.flops = node.flops;
  costs.bytes = costs.compulsory_bytes = costs.compulsory_read = node.bytes_read;
  costs.weight_bytes = 100e6;
  costs.peak_activation_bytes = 1e6 * rows;
  return costs;
}

BatchCosts batch_costs() { return {costs(1), costs(2)}; }

// The original model in the usual engine.
std::vector<PricedImplementation> only(const BatchCosts& costs) { return {{{}, costs}}; }

SpaceOptions upto(int64_t max_batch) {
  SpaceOptions options;
  options.max_batch = max_batch;
  return options;
}

int count_of(const Space& space, const std::string& id) {
  for (const SkipCount& skipped : space.skipped)
    if (skipped.reason.id == id) return skipped.count;
  return 0;
}

TEST(Space, KeepsThreadsTimesInstancesWithinTheUsableThreads) {
  Space space = make_space(machine(), {}, only(batch_costs()), upto(32));
  ASSERT_FALSE(space.entries.empty());
  std::set<std::string> unique;
  for (const PricedCandidate& entry : space.entries) {
    EXPECT_LE(entry.candidate.threads * entry.candidate.instances * entry.candidate.inter_op_threads, 8);
    EXPECT_TRUE(unique.insert(text(entry.candidate)).second) << text(entry.candidate);
  }
  for (const char* corner :
       {"threads=8 instances=1 batch=1 spin=default", "threads=1 instances=8 batch=32 spin=default"})
    EXPECT_TRUE(unique.count(corner)) << corner;
}

TEST(Space, HoldsOddSizesOfMachineAndBatch) {
  machine::Machine six = machine();
  six.cpu.allowed_cores = six.cpu.allowed_cpus = 6;
  std::set<std::string> unique;
  for (const PricedCandidate& entry : make_space(six, {}, only(batch_costs()), upto(12)).entries)
    unique.insert(text(entry.candidate));
  EXPECT_TRUE(unique.count("threads=6 instances=1 batch=12 spin=default"));
  EXPECT_TRUE(unique.count("threads=2 instances=3 batch=8 spin=default"));
}

TEST(Space, HasOnlyBatchOneWhereTheBatchIsFixed) {
  for (const PricedCandidate& entry : make_space(machine(), {}, only({costs(1), std::nullopt}), upto(1)).entries)
    EXPECT_EQ(entry.candidate.batch, 1);
}

// A file that fixes its batch at 4: a run of 100 ms at the limit makes four rows.
TEST(Space, TheLimitCountsTheRowsThatTheFileFixes) {
  SpaceOptions options = upto(1);
  options.rows = 4;
  for (const PricedCandidate& entry : make_space(machine(), {}, only({costs(1), std::nullopt}), options).entries)
    if (text(entry.candidate) == "threads=1 instances=1 batch=1 spin=default") {
      EXPECT_NEAR(entry.max_rows_per_s, 40, 1e-6);
    }
}

TEST(Space, BoundOfSeveralInstancesIsThatOfTheSharedMachine) {
  for (const PricedCandidate& entry : make_space(machine(), {}, only(batch_costs()), upto(1)).entries) {
    if (text(entry.candidate) == "threads=1 instances=1 batch=1 spin=default") {
      EXPECT_NEAR(entry.bound_ms, 100, 1e-6);  // 1 GFLOP at 10 GFLOP/s
      EXPECT_NEAR(entry.max_rows_per_s, 10, 1e-6);
    }
    if (text(entry.candidate) == "threads=1 instances=8 batch=1 spin=default") {
      EXPECT_NEAR(entry.bound_ms, 100, 1e-6);  // the memory would allow 8 × 101 MB / 20 GB/s = 40.4 ms
      EXPECT_NEAR(entry.max_rows_per_s, 80, 1e-6);
    }
  }
}

TEST(Space, CostsAtABatchLieOnTheLineThroughOneAndTwo) {
  cost::Costs sixteen = at_batch(batch_costs(), 16);
  EXPECT_DOUBLE_EQ(sixteen.flops, 16e9);
  EXPECT_DOUBLE_EQ(sixteen.compulsory_bytes, 116e6);
  EXPECT_DOUBLE_EQ(sixteen.nodes[0].bytes_read, 116e6);
  EXPECT_DOUBLE_EQ(sixteen.peak_activation_bytes, 16e6);
  EXPECT_DOUBLE_EQ(at_batch({costs(1), std::nullopt}, 16).flops, 1e9);
}

TEST(Space, LeavesOutWhatDoesNotFitIntoMemory) {
  machine::Machine small = machine();
  small.memory.available_bytes = 16'000'000'000;
  small.memory.limit_bytes = 300'000'000;  // two instances of 121 MB each
  Space space = make_space(small, {}, only(batch_costs()), upto(1));
  for (const PricedCandidate& entry : space.entries) EXPECT_LE(entry.candidate.instances, 2);
  EXPECT_GT(count_of(space, "memory"), 0);
}

TEST(Space, LeavesOutWhatCannotMeetTheGoal) {
  SpaceOptions options = upto(32);
  options.goal.p99_ms = 150;
  Space space = make_space(machine(), {}, only(batch_costs()), options);
  ASSERT_FALSE(space.entries.empty());
  for (const PricedCandidate& entry : space.entries) EXPECT_LE(entry.bound_ms, 150);
  EXPECT_GT(count_of(space, "bound-misses-goal"), 0);
}

TEST(Space, ForLatencyOneRequestAloneIsEnough) {
  SpaceOptions options = upto(32);
  options.goal.objective = Objective::kLatency;
  Space space = make_space(machine(), {}, only(batch_costs()), options);
  for (const PricedCandidate& entry : space.entries) {
    EXPECT_EQ(entry.candidate.batch, 1);
    EXPECT_EQ(entry.candidate.instances, 1);
  }
  EXPECT_GT(count_of(space, "no-shorter"), 0);
}

TEST(Space, LeavesOutRunsThatEatUpTheBudget) {
  SpaceOptions options = upto(32);
  options.max_run_ms = 1000;
  EXPECT_GT(count_of(make_space(machine(), {}, only(batch_costs()), options), "long-run"), 0);
}

TEST(Space, KnowsNoLimitOnAMachineThatWasNotMeasured) {
  machine::Machine unmeasured = machine();
  unmeasured.peaks.clear();
  unmeasured.bandwidths.clear();
  for (const PricedCandidate& entry : make_space(unmeasured, {}, only(batch_costs()), upto(4)).entries)
    EXPECT_EQ(entry.bound_ms, 0);
}

TEST(Space, TriesOperatorsSideBySideOnlyWhereTheGraphBranches) {
  model::Graph chain;
  chain.tensors.resize(3);
  chain.nodes = {node("a", {0}, {1}), node("b", {1}, {2})};
  model::Graph fork = chain;
  fork.nodes[1].inputs = {0};
  cost::Costs two;
  two.nodes.resize(2);
  two.nodes[0].flops = two.nodes[1].flops = 1e9;
  EXPECT_DOUBLE_EQ(parallelism(chain, two), 1);
  EXPECT_DOUBLE_EQ(parallelism(fork, two), 2);
  auto side_by_side = [&](const model::Graph& graph) {
    Space space = make_space(machine(), graph, only({two, std::nullopt}), upto(1));
    return std::any_of(space.entries.begin(), space.entries.end(),
                       [](const PricedCandidate& entry) { return entry.candidate.inter_op_threads > 1; });
  };
  EXPECT_FALSE(side_by_side(chain));
  EXPECT_TRUE(side_by_side(fork));
}

TEST(Space, HoldsEveryLayoutForEveryVariantBoundedByItsOwnPrecision) {
  machine::Machine with_int8 = machine();
  for (machine::Peak peak : machine().peaks) {
    peak.precision = Precision::kInt8;
    peak.flops_per_s *= 4;
    with_int8.peaks.push_back(peak);
  }
  BatchCosts quarter = batch_costs();
  for (cost::Costs* run : {&quarter.one, &*quarter.two}) run->nodes[0].precision = Precision::kInt8;
  std::vector<PricedImplementation> implementations = only(batch_costs());
  implementations.push_back({{.engine = "openvino", .variant = "int8", .precision = Precision::kInt8}, quarter});
  std::map<std::string, double> rows_per_s;
  for (const PricedCandidate& entry : make_space(with_int8, {}, implementations, upto(1)).entries)
    rows_per_s[text(entry.candidate)] = entry.max_rows_per_s;
  EXPECT_NEAR(rows_per_s.at("threads=8 instances=1 batch=1 spin=default"), 80, 1e-6);
  EXPECT_NEAR(rows_per_s.at("engine=openvino variant=int8 threads=8 instances=1 batch=1 spin=default"),
              std::min(320.0, 20e9 / 101e6), 1e-6);
  EXPECT_FALSE(rows_per_s.count("engine=openvino variant=int8 threads=8 instances=1 batch=1 spin=off"));
}

TEST(Space, HasNoOptionsOfOnnxRuntimeForOpenVinoAlsoWhereThatIsTheUntunedEngine) {
  std::vector<PricedImplementation> base = {{{.engine = "openvino"}, batch_costs()}};
  for (const PricedCandidate& entry : make_space(machine(), {}, base, upto(4)).entries) {
    EXPECT_EQ(entry.candidate.spin, plan::Spin::kDefault) << text(entry.candidate);
    EXPECT_EQ(entry.candidate.block_base, 0) << text(entry.candidate);
  }
}

TEST(Space, SmallerWeightsAreReadFasterAndComputedAtTheSameRate) {
  model::Graph graph;  // x [1,64] · w [64,1000] → y
  graph.tensors = {{"x", DataType::kFp32, Shape{1, 64}, model::TensorRole::kInput, {}},
                   {"w", DataType::kFp32, Shape{64, 1000}, model::TensorRole::kWeight, {}},
                   {"y", DataType::kFp32, Shape{1, 1000}, model::TensorRole::kActivation, {}}};
  graph.nodes = {node("product", {0, 1}, {2})};
  graph.nodes[0].op = "MatMul";
  graph.inputs = {0};
  graph.outputs = {2};
  const cost::Costs full = priced({}, graph, nullptr).costs.one;
  const cost::Costs small = priced({.variant = "int4-weights", .weight_scale = 0.125}, graph, nullptr).costs.one;
  EXPECT_DOUBLE_EQ(full.weight_bytes, 256e3);
  EXPECT_DOUBLE_EQ(small.weight_bytes, 32e3);
  EXPECT_DOUBLE_EQ(full.compulsory_read - small.compulsory_read, 224e3);
  EXPECT_DOUBLE_EQ(full.flops, small.flops);
  EXPECT_EQ(small.nodes[0].precision, Precision::kFp32);
}

// 100 GFLOP/s, 100 GB/s.
Target gpu(plan::DeviceKind kind = plan::DeviceKind::kCuda) {
  cost::DeviceLimits limits;
  limits.device = "a GPU";
  limits.flops_per_s = {{Precision::kFp32, 100e9}};
  limits.levels = {{"DRAM", 100e9, std::numeric_limits<double>::infinity()}};
  return {{kind, 0}, limits};
}

TEST(Space, OnAGpuHasOneThreadPerInstanceAndTheProvidersOptions) {
  SpaceOptions options = upto(4);
  options.target = gpu();
  const Space space = make_space(machine(), {}, only(batch_costs()), options);
  std::set<std::string> with_options;
  for (const PricedCandidate& entry : space.entries) {
    EXPECT_EQ(entry.candidate.threads, 1);
    EXPECT_LE(entry.candidate.instances, 4);
    for (const auto& [key, value] : entry.candidate.options) with_options.insert(key);
  }
  EXPECT_EQ(space.entries.size(), 3u * 3 * 3) << "instances, batches, options";
  EXPECT_EQ(with_options, (std::set<std::string>{"cuda.enable_cuda_graph", "cuda.prefer_nhwc"}));
  options.target = gpu(plan::DeviceKind::kTensorRt);
  EXPECT_EQ(make_space(machine(), {}, only(batch_costs()), options).entries.size(), 3u * 3 * 2);
  options.target = {{plan::DeviceKind::kGpu, 0}};
  EXPECT_EQ(make_space(machine(), {}, only(batch_costs()), options).entries.size(), 3u * 3) << "of Intel's GPUs none";
}

TEST(Space, OnAGpuAllInstancesShareItsLimits) {
  SpaceOptions options = upto(1);
  options.target = gpu();
  for (const PricedCandidate& entry : make_space(machine(), {}, only(batch_costs()), options).entries) {
    EXPECT_DOUBLE_EQ(entry.bound_ms, 10.0 * entry.candidate.instances) << "1 GFLOP at 100 GFLOP/s each";
    EXPECT_DOUBLE_EQ(entry.max_rows_per_s, 100);
  }
  options.target.limits.reset();
  EXPECT_EQ(make_space(machine(), {}, only(batch_costs()), options).entries.front().bound_ms, 0) << "not the CPU's";
}

}  // namespace
}  // namespace ridge::tune
