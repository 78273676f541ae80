// Benchmarks on the scripted engine and a fake clock.
#include "app/bench.h"

#include "app/test_tuning.h"

namespace ridge::app {
namespace {

class BenchTest : public TuningTest {
 protected:
  void SetUp() override {
    TuningTest::SetUp();
    const TuneRequest scripted = request_for("copy");  // 4 ms, and 0.2 ms per row
    request_.model = scripted.model;
    request_.engine = scripted.engine;
    request_.engine_options = scripted.engine_options;
    request_.how.max_time = std::chrono::seconds(2);
    set_batch(4);
  }
  void set_batch(int64_t batch) {
    request_.binding.batch = batch;
    request_.binding.insist_on_batch = true;
  }

  Result<std::optional<model::Graph>> bound() {
    RIDGE_ASSIGN(model_, read_model(request_));
    return app::bind(request_, model_);
  }

  BenchRequest request_;
  std::optional<model::UnboundModel> model_;
};

TEST_F(BenchTest, MeasuresTheModelOnTheClockOfItsControl) {
  const auto graph = bound();
  ASSERT_TRUE(graph);
  const Result<measure::Measurement> measured = bench(request_, model_, *graph, control_);
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_NEAR(measured->latency_ms.p50, 4.8, 1e-6);
  EXPECT_NEAR(measured->throughput_per_s, 4 / 4.8e-3, 1);
  EXPECT_EQ(measured->batch, 4);
  EXPECT_TRUE(measured->converged);
  EXPECT_FALSE(steps_.empty());
  ASSERT_TRUE(measured->histogram);
  EXPECT_EQ(measure::samples_in(*measured->histogram), measured->samples);
  EXPECT_EQ(measured->model_digest, *model_->digest());
}

TEST_F(BenchTest, OnABusyMachineItSaysSoAndEstimatesTheUndisturbedSpeed) {
  const auto graph = bound();
  ASSERT_TRUE(graph);
  be_busy();
  const Result<measure::Measurement> measured = bench(request_, model_, *graph, control_);
  ASSERT_TRUE(measured) << measured.error().message;
  ASSERT_TRUE(measured->disturbance);
  EXPECT_NEAR(measured->disturbance->steal_share, 0.75, 1e-9);
  EXPECT_EQ(measured->advice.id, "disturbed");
  ASSERT_TRUE(measured->undisturbed);
  EXPECT_NEAR(measured->undisturbed->latency_ms, 4.8, 1e-6);
}

TEST_F(BenchTest, InstancesShareTheThreadsUnlessTheirNumberIsGiven) {
  const auto graph = bound();
  ASSERT_TRUE(graph);
  request_.instances = 1000;  // more than any machine has threads
  request_.how.concurrency = 1;
  Result<measure::Measurement> measured = bench(request_, model_, *graph, control_);
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_EQ(measured->instances, 1000);
  EXPECT_EQ(measured->threads, 1);
  request_.instances = 2;
  request_.threads = 3;
  measured = bench(request_, model_, *graph, control_);
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->threads, 3);
}

TEST_F(BenchTest, AScriptIsMeasuredWithoutALimit) {
  request_.model = path("slow.fake.json");
  ASSERT_TRUE(write_file_atomically(
      request_.model, R"({"inputs": [{"name": "x", "type": "FP32", "shape": [4, 16]}], "latency_ms": 5})"));
  request_.engine_options.clear();
  const auto none = bound();
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_FALSE(*none);
  const Result<measure::Measurement> measured = bench(request_, model_, *none, control_);
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_NEAR(measured->latency_ms.p50, 5, 1e-6);
  EXPECT_EQ(measured->threads, 1);
  EXPECT_EQ(measured->bound_ms, 0);
  EXPECT_FALSE(measured->energy.per_row_j);
}

TEST_F(BenchTest, WhatTheFileCannotGiveIsRefusedBeforeItIsMeasured) {
  namespace onnx = engine::test_model;
  request_.model = path("fixed.onnx");
  ASSERT_TRUE(write_file_atomically(request_.model,
                                    onnx::model(onnx::node("Identity", "copy", {"x"}, "y"),
                                                onnx::block(11, onnx::value_info("x", onnx::kFloat, {2, 16})),
                                                onnx::block(12, onnx::value_info("y", onnx::kFloat, {2, 16})))));
  request_.binding.insist_on_batch = false;
  EXPECT_TRUE(bound());
  request_.binding.insist_on_batch = true;
  EXPECT_EQ(bound().error().code, Code::kInvalid);
  set_batch(2);
  EXPECT_TRUE(bound());
  request_.precision = Precision::kFp16;  // the fake engine accepts any
  EXPECT_TRUE(bound());
  request_.engine = plan::kUsualEngine;  // this one computes the stored type
  EXPECT_EQ(bound().error().code, Code::kInvalid);
}

}  // namespace
}  // namespace ridge::app
