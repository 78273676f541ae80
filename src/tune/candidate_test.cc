#include "tune/candidate.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ridge::tune {
namespace {

plan::Plan base() {
  plan::Plan plan;
  plan.model = "net.onnx";
  plan.engine_library = "/opt/libonnxruntime.so";
  plan.options = {{"session.set_denormal_as_zero", "1"}};
  plan.shapes = {{"x", {1, 16}}};
  return plan;
}

std::vector<Implementation> implementations() {
  return {{},
          {.variant = "int8", .precision = Precision::kInt8, .file = "net.int8.onnx"},
          {.engine = "openvino", .variant = "bf16", .precision = Precision::kBf16, .options = {{"CACHE_DIR", "c"}}}};
}

TEST(Candidate, OfTheModelAsGivenKeepsItsTextWhateverImplementationsThereAre) {
  EXPECT_EQ(text({.threads = 2, .batch = 4}), "threads=2 instances=1 batch=4 spin=default");
  EXPECT_EQ(text({.engine = "openvino", .variant = "bf16", .threads = 2}),
            "engine=openvino variant=bf16 threads=2 instances=1 batch=1 spin=default");
}

TEST(Candidate, OfAnotherPrecisionRunsItsFileInTheSameEngine) {
  plan::Plan plan = to_plan({.variant = "int8", .threads = 2, .batch = 4}, base(), implementations());
  EXPECT_EQ(plan.model, "net.int8.onnx");
  EXPECT_EQ(plan.precision, Precision::kInt8);
  EXPECT_EQ(plan.engine, "onnxruntime");
  EXPECT_EQ(plan.engine_library, "/opt/libonnxruntime.so");
  EXPECT_EQ(plan.options.at("session.set_denormal_as_zero"), "1");
  EXPECT_EQ(plan.shapes.at("x"), (Shape{4, 16}));
}

TEST(Candidate, OfAnotherEngineLeavesTheBaseEnginesLibraryAndOptionsBehind) {
  plan::Plan plan = to_plan({.engine = "openvino", .variant = "bf16"}, base(), implementations());
  EXPECT_EQ(plan.engine, "openvino");
  EXPECT_EQ(plan.model, "net.onnx");
  EXPECT_EQ(plan.engine_library, "");
  EXPECT_EQ(plan.options, (std::map<std::string, std::string>{{"CACHE_DIR", "c"}}));
  EXPECT_EQ(plan.precision, Precision::kBf16);
}

TEST(Candidate, SaysItsEngineAndPrecisionToPeople) {
  EXPECT_EQ(describe({.engine = "openvino", .variant = "bf16", .threads = 2}),
            "openvino, bf16, 1 instance × 2 threads, batch 1");
}

TEST(Candidate, SettingsNameTheEngineAlsoOfTheBaseline) {
  EXPECT_EQ(
      settings({.engine = "openvino", .variant = "int8", .threads = 1, .instances = 2, .batch = 32}, "onnxruntime"),
      "OpenVINO INT8, batch 32, 2 × 1 thread");
  EXPECT_EQ(settings({.variant = "int8-dynamic", .threads = 2, .spin = plan::Spin::kOff}, "onnxruntime"),
            "ONNX Runtime INT8-dynamic, batch 1, 1 × 2 threads, no spinning");
  EXPECT_EQ(settings(baseline_candidate(), "onnxruntime"), "ONNX Runtime's defaults");
}

TEST(Candidate, IsReadBackFromItsJson) {
  Candidate candidate{.engine = "openvino", .variant = "int8", .threads = 2, .instances = 3, .batch = 8};
  candidate.spin = plan::Spin::kOff;
  candidate.inter_op_threads = 2;
  candidate.block_base = 4;
  Result<Candidate> read = from_json<Candidate>(to_json(candidate));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, candidate);
  EXPECT_EQ(*from_json<Candidate>(to_json(baseline_candidate())), baseline_candidate());
  EXPECT_FALSE(from_json<Candidate>(Json{{"batch", 0}}));
  EXPECT_FALSE(from_json<Candidate>(Json{{"spin", "fast"}}));
}

TEST(Candidate, OnAGpuHandsItsOptionsToTheEngineAndIsReadBackWithThem) {
  Candidate candidate{.threads = 1};
  candidate.options = {{"cuda.enable_cuda_graph", "1"}};
  EXPECT_NE(text(candidate), text(Candidate{.threads = 1}));
  EXPECT_NE(describe(candidate).find("cuda.enable_cuda_graph=1"), std::string::npos);
  plan::Plan base;
  base.device = "cuda:1";
  base.options = {{"cuda.use_tf32", "0"}};
  const plan::Plan plan = to_plan(candidate, base);
  EXPECT_EQ(plan.device, "cuda:1");
  EXPECT_EQ(plan.options,
            (std::map<std::string, std::string>{{"cuda.enable_cuda_graph", "1"}, {"cuda.use_tf32", "0"}}));
  const auto back = from_json<Candidate>(to_json(candidate));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, candidate);
}

}  // namespace
}  // namespace ridge::tune
