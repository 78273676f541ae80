#include "predict/calibrate.h"

#include <gtest/gtest.h>

#include <set>

#include "base/fake_clock.h"
#include "base/temporary_folder.h"
#include "model/reader.h"
#include "predict/calibration_run.h"
#include "predict/calibration_store.h"
#include "zoo/writer.h"

namespace ridge::predict {
namespace {

model::Graph gemm_graph() {
  model::Graph graph;
  auto tensor = [&](const char* name, Shape shape, model::TensorRole role) {
    graph.tensors.push_back({name, DataType::kFp32, std::move(shape), role, {}});
    return static_cast<int>(graph.tensors.size()) - 1;
  };
  const int x = tensor("x", {-1, 64}, model::TensorRole::kInput);
  const int w = tensor("w", {64, 32}, model::TensorRole::kWeight);
  const int bias = tensor("bias", {32}, model::TensorRole::kWeight);
  const int y = tensor("y", {-1, 32}, model::TensorRole::kActivation);
  graph.nodes.push_back({"fc", "Gemm", "", {x, w, bias}, {y}, {}});
  return graph;
}

engine::NodeTime gemm_time() {
  engine::NodeTime time;
  time.name = "fc";
  time.op = "Gemm";
  time.typical_us = 12;
  time.runs = time.calls = 3;
  time.inputs = {{DataType::kFp32, {8, 64}}, {DataType::kFp32, {32}}};  // the packed weight is not listed
  time.outputs = {{DataType::kFp32, {8, 32}}};
  return time;
}

TEST(TimedKernels, WeightsThatTheProfileLeavesOutComeFromTheGraph) {
  const std::vector<TimedKernel> kernels = timed_kernels({gemm_time()}, gemm_graph());
  ASSERT_EQ(kernels.size(), 1U);
  const Kernel& kernel = kernels[0].kernel;
  EXPECT_EQ(kernels[0].us, 12);
  EXPECT_EQ(*kernel.inputs[0].shape, (Shape{8, 64}));
  EXPECT_EQ(*kernel.inputs[1].shape, (Shape{64, 32}));
  EXPECT_EQ(*kernel.inputs[2].shape, (Shape{32}));
  EXPECT_TRUE(kernel.inputs[1].weight);
  EXPECT_EQ(*kernel.outputs[0].shape, (Shape{8, 32}));
}

TEST(TimedKernels, NodesOfLoopsAndUnknownNodesAreLeftOut) {
  engine::NodeTime loop = gemm_time(), unknown = gemm_time();
  loop.calls = 30;
  unknown.name = "other";
  EXPECT_TRUE(timed_kernels({loop, unknown}, gemm_graph()).empty());
}

TEST(CalibrationRun, GoesOnUntilItsTimeIsOver) {
  FakeClock clock;
  plan::Plan plan;
  plan.model = "scripted";
  plan.engine = "fake";
  plan.options = {{"latency_ms", "3"}};
  plan.shapes["x"] = {1, 16};
  Result<measure::Runner> runner = measure::Runner::open(plan, nullptr, 1, 1, clock);
  ASSERT_TRUE(runner) << runner.error().message;
  const auto run = [&](int ms, int least) { return run_for(*runner, std::chrono::milliseconds(ms), least, clock); };
  EXPECT_EQ(*run(10, 2), (std::vector<double>{3000, 3000, 3000, 3000}));
  EXPECT_EQ(run(0, 2)->size(), 2u);
  EXPECT_EQ(run(3'600'000, 2)->size(), 400u);
}

TEST(CalibrationSuite, EveryModelCanBeReadWithAllShapesKnown) {
  Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  std::set<std::string> names;
  for (const CalibrationModel& entry : calibration_suite()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    const std::string path = folder->path() + "/m.onnx";
    ASSERT_TRUE(zoo::write(entry.blueprint, 0, path).ok());
    const bool open = std::holds_alternative<std::string>(entry.blueprint.inputs.front().shape.front());
    model::Binding binding;
    if (open) binding.batch = entry.batch;
    Result<model::Graph> graph = model::read(path, binding);
    ASSERT_TRUE(graph.ok()) << entry.name << ": " << graph.error().message;
    for (const model::TensorInfo& tensor : graph->tensors)
      EXPECT_TRUE(tensor.shape && element_count(*tensor.shape)) << entry.name << ": " << tensor.name;
  }
}

TEST(CalibrationStore, ReturnsTheNewestOfThisMachineAndPassesOverDamage) {
  Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  Efficiency efficiency;
  efficiency.machine = "m-1";
  efficiency.engine = "onnxruntime";
  efficiency.engine_version = "1.30";
  efficiency.measured_at = "2026-01";
  ASSERT_TRUE(keep_calibration(folder->path(), efficiency).ok());
  efficiency.engine_version = "1.31";
  efficiency.measured_at = "2026-02";
  Result<std::string> path = keep_calibration(folder->path(), efficiency);
  ASSERT_TRUE(path.ok());
  EXPECT_EQ(recall_calibration(folder->path(), "m-1")->engine_version, "1.31");
  EXPECT_FALSE(recall_calibration(folder->path(), "m-2"));
  EXPECT_FALSE(recall_calibration(folder->path() + "/none", "m-1"));
  std::FILE* file = std::fopen(path->c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fclose(file);
  EXPECT_EQ(recall_calibration(folder->path(), "m-1")->engine_version, "1.30");
}

}  // namespace
}  // namespace ridge::predict
