#include "engine/onnxruntime/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "engine/onnxruntime/library.h"
#include "engine/providers.h"
#include "engine/test_model.h"
#include "engine/test_session.h"

namespace ridge::engine::onnxruntime {
namespace {

using test_model::block;
using test_model::identity;
using test_model::kFloat;
using test_model::kString;
using test_model::model;
using test_model::node;
using test_model::number;
using test_model::value_info;

class OnnxRuntimeSession : public SessionTest {
 protected:
  OnnxRuntimeSession() : SessionTest("onnxruntime") {}
};

TEST_F(OnnxRuntimeSession, ReportsSignatureVersionAndDevice) {
  std::unique_ptr<Session> session = open_model(plan_for(identity(kFloat)));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->signature().inputs[0].name, "x");
  EXPECT_EQ(session->signature().inputs[0].type, DataType::kFp32);
  EXPECT_EQ(session->signature().inputs[0].shape, (Shape{-1, 4}));
  EXPECT_EQ(session->signature().outputs[0].name, "y");
  EXPECT_EQ(session->info().device, "cpu");
  EXPECT_EQ(session->info().threads, 1);
  EXPECT_FALSE(session->info().version.empty());
  EXPECT_GT(session->info().load_time.count(), 0);
}

TEST_F(OnnxRuntimeSession, StringsComeBackAsTheyWereSent) {
  std::unique_ptr<Session> session = open_model(plan_for(identity(kString)));
  ASSERT_NE(session, nullptr);
  std::string wire;
  for (const std::string& element :
       {std::string("ridge"), std::string(), std::string("a\0b", 3), std::string("\xc3\xa9")}) {
    auto length = static_cast<uint32_t>(element.size());
    wire.append(reinterpret_cast<const char*>(&length), sizeof length).append(element);
  }
  Output output;
  Status ran = run_once(*session, {DataType::kBytes, {1, 4}, std::as_bytes(std::span(wire))}, output);
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  EXPECT_EQ(output.type, DataType::kBytes);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(output.data.data()), output.data.size()), wire);
  EXPECT_FALSE(run_once(*session, {DataType::kBytes, {1, 4}, std::as_bytes(std::span(wire).first(7))}, output).ok());
}

TEST_F(OnnxRuntimeSession, ProfilesItsNodesAndLeavesNoFileBehind) {
  std::string two = model(node("Relu", "first", {"x"}, "m") + node("Softmax", "second", {"m"}, "y"),
                          block(11, value_info("x", kFloat, {-1, 4})), block(12, value_info("y", kFloat, {-1, 4})));
  plan::Plan plan = plan_for(two);
  plan.profile = true;
  plan.optimised_model = folder_ + "/optimised.onnx";
  std::string temporary = folder_ + "/tmp";
  std::filesystem::create_directories(temporary);
  setenv("TMPDIR", temporary.c_str(), 1);
  std::unique_ptr<Session> session = open_model(plan);
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(std::filesystem::exists(plan.optimised_model));
  std::array<float, 8> in{};
  Output output;
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(run_once(*session, {DataType::kFp32, {2, 4}, std::as_bytes(std::span(in))}, output).ok());
  Result<std::vector<NodeTime>> nodes = session->take_profile(1);
  unsetenv("TMPDIR");
  ASSERT_TRUE(nodes.ok()) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 2u);
  EXPECT_EQ((*nodes)[0].name, "first");
  EXPECT_EQ((*nodes)[1].op, "Softmax");
  EXPECT_EQ((*nodes)[1].runs, 2);
  EXPECT_EQ((*nodes)[1].provider, "CPUExecutionProvider");
  EXPECT_EQ((*nodes)[1].inputs[0], (std::pair<DataType, Shape>{DataType::kFp32, {2, 4}}));
  for (const auto& left : std::filesystem::directory_iterator(temporary))
    EXPECT_EQ(left.path().filename(), ".ses");  // the engine's own, written once per process
  EXPECT_FALSE(session->take_profile(0).ok()) << "it can be taken once";
}

TEST_F(OnnxRuntimeSession, CountsTheThreadsOfTheEnginesOwnDefault) {
  plan::Plan plan = plan_for(identity(kFloat));
  plan.threads = 3;
  EXPECT_EQ(open_model(plan)->info().threads, 3);
  plan.threads = 0;
  EXPECT_GE(open_model(plan)->info().threads, 1);
}

TEST_F(OnnxRuntimeSession, AnOutputThatIsASequenceIsRefusedByName) {
  std::string sequence = block(1, "y") + block(2, block(4, block(1, block(1, number(1, kFloat)))));
  Result<std::unique_ptr<Session>> session = engine::open(plan_for(
      model(node("SequenceConstruct", "n", {"x"}, "y"), block(11, value_info("x", kFloat, {1})), block(12, sequence))));
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, Code::kUnsupported);
  EXPECT_NE(session.error().message.find("'y' is a sequence"), std::string::npos) << session.error().message;
}

TEST_F(OnnxRuntimeSession, AGpuThatItsBuildCannotUseIsAnErrorWithTheBuildThatCould) {
  plan::Plan plan = plan_for(identity(kFloat));
  if (const auto compiled = compiled_providers(plan);
      compiled && std::find(compiled->begin(), compiled->end(), "CUDAExecutionProvider") != compiled->end())
    GTEST_SKIP() << "this ONNX Runtime has the CUDA provider";
  for (const char* device : {"cuda:0", "tensorrt:1"}) {
    plan.device = device;
    Result<std::unique_ptr<Session>> session = engine::open(plan);
    ASSERT_FALSE(session.ok());
    EXPECT_EQ(session.error().code, Code::kUnsupported);
    for (const char* part :
         {device, "CPUExecutionProvider only", "matrix: onnxruntime-gpu", "onnxruntime-gpu[cuda,cudnn]=="})
      EXPECT_NE(session.error().message.find(part), std::string::npos) << session.error().message;
  }
}

TEST_F(OnnxRuntimeSession, ADeviceOfAnotherEngineIsAnErrorThatNamesTheEngine) {
  plan::Plan plan = plan_for(identity(kFloat));
  plan.device = "gpu:0";
  EXPECT_NE(engine::open(plan).error().message.find("--engine openvino"), std::string::npos);
  plan.device = "vulkan:0";
  EXPECT_EQ(engine::open(plan).error().code, Code::kInvalid);
}

TEST(OnnxRuntimeLibrary, ANamedLibraryThatIsMissingIsNeverReplacedByAnother) {
  Result<const Library*> library = load("/nowhere/libonnxruntime.so");
  ASSERT_FALSE(library.ok());
  EXPECT_NE(library.error().message.find("--engine-library /nowhere/libonnxruntime.so"), std::string::npos);
  EXPECT_EQ(library.error().message.find("site-packages:"), std::string::npos);
}

TEST(OnnxRuntimeLibrary, AnotherLibraryIsRefusedForWhatItIs) {
  Result<const Library*> library = load("libc.so.6");
  ASSERT_FALSE(library.ok());
  EXPECT_NE(library.error().message.find("OrtGetApiBase"), std::string::npos) << library.error().message;
}

TEST(Open, AnUnknownEngineIsAnErrorThatNamesTheEngines) {
  plan::Plan plan;
  plan.engine = "tensorrt";
  Result<std::unique_ptr<Session>> session = engine::open(plan);
  ASSERT_FALSE(session.ok());
  EXPECT_NE(session.error().message.find("onnxruntime and openvino"), std::string::npos);
}

}  // namespace
}  // namespace ridge::engine::onnxruntime
