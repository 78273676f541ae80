#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "engine/openvino/instruction_sets.h"
#include "engine/openvino/library.h"
#include "engine/test_model.h"
#include "engine/test_session.h"

namespace ridge::engine::openvino {
namespace {

using test_model::block;
using test_model::convolution;
using test_model::identity;
using test_model::kFloat;
using test_model::kString;
using test_model::model;
using test_model::node;
using test_model::value_info;

constexpr size_t kPixels = 3 * 8 * 8;  // of one row of convolution()'s x

class OpenVinoSession : public SessionTest {
 protected:
  OpenVinoSession() : SessionTest("openvino") {}

  // Skips, with the reason, if this CPU cannot compute in BF16.
  static std::string no_bf16() { return missing_for(Precision::kBf16, instruction_sets()).value_or(""); }
};

std::vector<float> image(int64_t rows) {
  std::vector<float> values(static_cast<size_t>(rows) * kPixels);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 31 % 101) / 101;
  return values;
}

// convolution() on `rows` rows, in memory of the engine's.
std::vector<float> scores(Session& session, int64_t rows) {
  std::vector<float> in = image(rows);
  Output output;
  Status ran = run_once(session, {DataType::kFp32, {rows, 3, 8, 8}, std::as_bytes(std::span(in))}, output);
  EXPECT_TRUE(ran.ok()) << ran.error().message;
  EXPECT_EQ(output.shape, (Shape{rows, 16, 8, 10}));
  std::vector<float> out(output.data.size() / sizeof(float));
  if (!out.empty()) std::memcpy(out.data(), output.data.data(), output.data.size());
  return out;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) largest = std::max(largest, std::abs(double{a[i]} - b[i]));
  return largest;
}

TEST_F(OpenVinoSession, ReportsSignatureVersionAndWhatItExecutes) {
  plan::Plan plan = plan_for(convolution());
  plan.shapes = {{"x", {2, 3, 8, 8}}};
  std::unique_ptr<Session> session = open_model(plan);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->signature().inputs[0].name, "x");
  EXPECT_EQ(session->signature().inputs[0].type, DataType::kFp32);
  EXPECT_EQ(session->signature().inputs[0].shape, (Shape{-1, 3, 8, 8})) << "the model's own, not the plan's";
  EXPECT_EQ(session->signature().outputs[0].name, "y");
  EXPECT_EQ(session->info().name, "openvino");
  EXPECT_EQ(session->info().device, "cpu");
  EXPECT_EQ(session->info().threads, 1);
  EXPECT_EQ(session->info().version.substr(0, 2), "20");
  EXPECT_NE(session->info().library.find("libopenvino.so"), std::string::npos);
  EXPECT_EQ(session->info().executed, "f32 in 2 layers");
  EXPECT_GT(session->info().load_time.count(), 0);
}

TEST_F(OpenVinoSession, AgreesWithOnnxRuntimeForAnyBatchWhetherItsShapesAreFixedOrOpen) {
  plan::Plan open = plan_for(convolution());
  plan::Plan fixed = open, reference = open;
  fixed.shapes = {{"x", {2, 3, 8, 8}}};
  reference.engine = "onnxruntime";
  Result<std::unique_ptr<Session>> expected = engine::open(reference);
  if (!expected) GTEST_SKIP() << expected.error().message;
  for (const plan::Plan& plan : {open, fixed}) {
    std::unique_ptr<Session> session = open_model(plan);
    ASSERT_NE(session, nullptr);
    for (int64_t rows : {2, 5, 1, 2})
      EXPECT_LT(largest_difference(scores(*session, rows), scores(**expected, rows)), 1e-5) << rows;
  }
}

TEST_F(OpenVinoSession, RunsFunctionsOfTheModelsOwnForShapesThatItIsReadAgainFor) {
  const std::string body = block(7, block(1, "a") + block(1, "a") + block(2, "b") + block(4, "Add"));
  const std::string twice = block(25, block(1, "Twice") + block(4, "a") + block(5, "b") + body +
                                          block(9, test_model::number(2, 17)) + block(10, "own"));
  const std::string call =
      block(1, block(1, "x") + block(2, "y") + block(3, "call") + block(4, "Twice") + block(7, "own"));
  plan::Plan plan =
      plan_for(model(call, block(11, value_info("x", kFloat, {-1, 4})), block(12, value_info("y", kFloat, {-1, 4}))) +
               block(8, block(1, "own") + test_model::number(2, 1)) + twice);
  plan.shapes = {{"x", {2, 4}}};
  std::unique_ptr<Session> session = open_model(plan);
  ASSERT_NE(session, nullptr);
  for (int64_t rows : {2, 3}) {
    std::vector<float> in(static_cast<size_t>(rows) * 4, 1.5F), out(in.size());
    Output output{DataType::kFp32, {rows, 4}, std::as_writable_bytes(std::span(out)), nullptr};
    Status ran = run_once(*session, {DataType::kFp32, {rows, 4}, std::as_bytes(std::span(in))}, output);
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_EQ(out, std::vector<float>(in.size(), 3.0F));
  }
}

TEST_F(OpenVinoSession, RefusesStringsWithAReason) {
  Result<std::unique_ptr<Session>> session = engine::open(plan_for(identity(kString)));
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, Code::kUnsupported);
  EXPECT_NE(session.error().message.find("use the engine onnxruntime"), std::string::npos) << session.error().message;
}

// The engine computes all outputs in every run; it must not write again to memory of an earlier one.
TEST_F(OpenVinoSession, MemoryOfAnEarlierRunIsLeftAlone) {
  std::string two = model(node("Relu", "first", {"x"}, "y") + node("Neg", "second", {"x"}, "z"),
                          block(11, value_info("x", kFloat, {-1, 4})),
                          block(12, value_info("y", kFloat, {-1, 4})) + block(12, value_info("z", kFloat, {-1, 4})));
  plan::Plan open = plan_for(two), fixed = open;
  fixed.shapes = {{"x", {1, 4}}};
  for (const plan::Plan& plan : {open, fixed}) {
    std::unique_ptr<Session> session = open_model(plan);
    ASSERT_NE(session, nullptr);
    ASSERT_EQ(session->signature().outputs[1].name, "z");
    std::array<float, 4> in = {1, 2, 3, 4}, out{};
    TensorView input{DataType::kFp32, {1, 4}, std::as_bytes(std::span(in))};
    Output given{DataType::kFp32, {1, 4}, std::as_writable_bytes(std::span(out)), nullptr};
    ASSERT_TRUE(run_once(*session, input, given).ok());
    const std::array<float, 4> before = out;
    in.fill(9);
    const int second = 1;
    Output kept, again;
    ASSERT_TRUE(session->run({&input, 1}, {&second, 1}, {&kept, 1}).ok());
    EXPECT_EQ(out, before);
    in.fill(5);
    ASSERT_TRUE(run_once(*session, input, again).ok());
    EXPECT_EQ(reinterpret_cast<const float*>(kept.data.data())[0], -9) << "nor an output that was handed over";
  }
}

TEST_F(OpenVinoSession, ComputesInFp32EvenWhereTheEngineWouldChooseLess) {
  plan::Plan plan = plan_for(convolution());
  std::unique_ptr<Session> session = open_model(plan);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->info().executed.find("bf16"), std::string::npos) << session->info().executed;

  if (!no_bf16().empty()) GTEST_SKIP() << no_bf16();
  plan.options = {{"INFERENCE_PRECISION_HINT", "bf16"}};
  Result<std::unique_ptr<Session>> lower = engine::open(plan);
  ASSERT_FALSE(lower.ok());
  EXPECT_NE(lower.error().message.find("executes in bf16"), std::string::npos) << lower.error().message;
}

TEST_F(OpenVinoSession, ComputesInBf16WhenAskedAndSaysSo) {
  if (!no_bf16().empty()) GTEST_SKIP() << no_bf16();
  plan::Plan plan = plan_for(convolution());
  const std::vector<float> exact = scores(*open_model(plan), 2);
  plan.precision = Precision::kBf16;
  std::unique_ptr<Session> session = open_model(plan);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->info().executed, "bf16 in 2 layers");
  const double difference = largest_difference(scores(*session, 2), exact);
  EXPECT_GT(difference, 0) << "eight bits of mantissa show";
  EXPECT_LT(difference, 1e-2);
}

TEST_F(OpenVinoSession, RefusesAPrecisionThatIsNotThereAndNamesTheReason) {
  plan::Plan plan = plan_for(convolution());
  plan.precision = Precision::kBf16;
  setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
  Result<std::unique_ptr<Session>> capped = engine::open(plan);
  unsetenv("ONEDNN_MAX_CPU_ISA");
  ASSERT_FALSE(capped.ok());
  EXPECT_EQ(capped.error().code, Code::kUnsupported);
  const std::string reason = no_bf16().empty() ? "ONEDNN_MAX_CPU_ISA=AVX2" : no_bf16();
  EXPECT_NE(capped.error().message.find(reason), std::string::npos) << capped.error().message;

  plan.precision = Precision::kFp64;
  EXPECT_FALSE(engine::open(plan).ok());
  plan.precision = Precision::kInt8;  // nothing in it is quantised
  Result<std::unique_ptr<Session>> plain = engine::open(plan);
  ASSERT_FALSE(plain.ok());
  EXPECT_NE(plain.error().message.find("no layer executes in it (f32 in 2 layers)"), std::string::npos)
      << plain.error().message;
}

TEST_F(OpenVinoSession, ProfilesItsLayersWithTheModelsOwnNodes) {
  plan::Plan plan = plan_for(convolution());
  plan.shapes = {{"x", {2, 3, 8, 8}}};
  plan.profile = true;
  std::unique_ptr<Session> session = open_model(plan);
  ASSERT_NE(session, nullptr);
  for (int i = 0; i < 5; ++i) scores(*session, 2);
  Result<std::vector<NodeTime>> nodes = session->take_profile(1);
  ASSERT_TRUE(nodes.ok()) << nodes.error().message;
  const auto layer =
      std::find_if(nodes->begin(), nodes->end(), [](const NodeTime& n) { return n.op == "Convolution"; });
  ASSERT_NE(layer, nodes->end());
  EXPECT_EQ(layer->sources, (std::vector<std::string>{"conv", "relu"}));
  EXPECT_TRUE(layer->multiplies);
  EXPECT_EQ(layer->outputs[0], (std::pair<DataType, Shape>{DataType::kFp32, {2, 16, 8, 8}}));
  EXPECT_NE(layer->provider.find("f32"), std::string::npos) << layer->provider;
  EXPECT_EQ(layer->runs, 4);
  EXPECT_GT(layer->mean_us, 0);
  EXPECT_FALSE(session->take_profile(0).ok()) << "it can be taken once";
}

TEST_F(OpenVinoSession, SessionsMayShareOneCompiledModel) {
  plan::Plan plan = plan_for(convolution());
  plan.options = {{"ridge.shared_streams", "2"}, {"CACHE_DIR", folder_ + "/cache"}};
  std::unique_ptr<Session> one = open_model(plan);
  ASSERT_NE(one, nullptr);
  std::filesystem::remove_all(folder_ + "/cache");
  std::unique_ptr<Session> two = open_model(plan);
  ASSERT_NE(two, nullptr);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/cache")) << "the second compiled nothing";
  EXPECT_EQ(one->info().threads, 1) << "of each run";
  const std::vector<float> from_one = scores(*one, 3);
  EXPECT_EQ(largest_difference(from_one, scores(*two, 3)), 0);
  one.reset();
  EXPECT_EQ(largest_difference(from_one, scores(*two, 3)), 0);
  plan.options = {{"ridge.shared_streams", "none"}};
  EXPECT_FALSE(engine::open(plan).ok());
}

TEST_F(OpenVinoSession, OptionsReachTheEngineAndWrongOnesAreErrors) {
  plan::Plan plan = plan_for(convolution());
  plan.options = {{"CACHE_DIR", folder_ + "/cache"}};
  ASSERT_NE(open_model(plan), nullptr);
  EXPECT_FALSE(std::filesystem::is_empty(folder_ + "/cache")) << "the compiled model is kept";
  const std::vector<float> from_cache = scores(*open_model(plan), 1);
  plan.options = {};
  EXPECT_EQ(largest_difference(from_cache, scores(*open_model(plan), 1)), 0);
  plan.options = {{"NO_SUCH_OPTION", "1"}};
  Result<std::unique_ptr<Session>> wrong = engine::open(plan);
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("NO_SUCH_OPTION"), std::string::npos) << wrong.error().message;
}

TEST_F(OpenVinoSession, WhatItCannotDoIsRefusedNotIgnored) {
  plan::Plan plan = plan_for(identity(kFloat));
  plan.device = "cuda:0";
  EXPECT_NE(engine::open(plan).error().message.find("--engine onnxruntime"), std::string::npos);
  plan.device = "cpu";
  plan.graph_level = plan::GraphLevel::kBasic;
  Result<std::unique_ptr<Session>> level = engine::open(plan);
  ASSERT_FALSE(level.ok());
  EXPECT_EQ(level.error().code, Code::kUnsupported);
  plan.graph_level = plan::GraphLevel::kAll;
  plan.inter_op_threads = 2;
  EXPECT_FALSE(engine::open(plan).ok());
}

TEST_F(OpenVinoSession, AGpuThatIsNotThereIsAnErrorThatSaysWhatThereIsAndWhatItNeeds) {
  plan::Plan plan = plan_for(identity(kFloat));
  plan.device = "gpu:200";
  Result<std::unique_ptr<Session>> session = engine::open(plan);
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, Code::kUnavailable);
  for (const char* part : {"OpenVINO finds CPU", "no GPU.200", "intel-opencl-icd"})
    EXPECT_NE(session.error().message.find(part), std::string::npos) << session.error().message;
}

TEST_F(OpenVinoSession, ANamedLibraryThatIsMissingIsNeverReplacedByAnother) {
  Result<const Library*> library = load("/nowhere/libopenvino.so.2641");
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code, Code::kNotFound);
  EXPECT_NE(library.error().message.find("--engine-library /nowhere/libopenvino.so.2641"), std::string::npos);
  EXPECT_NE(library.error().message.find("pip install openvino=="), std::string::npos);
}

TEST(OpenVinoLibrary, ItsNumberNamesItsRelease) {
  EXPECT_EQ(release_of("2641"), "2026.4.1");
  EXPECT_EQ(release_of("25110"), "2025.11.0");
}

}  // namespace
}  // namespace ridge::engine::openvino
