#include "engine/onnxruntime/session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "engine/onnxruntime/library.h"
#include "engine/test_model.h"

namespace ridge::engine::onnxruntime {
namespace {

using namespace test_model;

class OnnxRuntimeSession : public testing::Test {
 protected:
  void SetUp() override {
    Result<const Library*> library = load("");
    if (!library) GTEST_SKIP() << library.error().message;
    folder_ = testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name() +
              std::to_string(getpid());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  plan::Plan plan_for(const std::string& bytes) {
    plan::Plan plan;
    plan.model = folder_ + "/model.onnx";
    plan.threads = 1;
    EXPECT_TRUE(write_file_atomically(plan.model, bytes).ok());
    return plan;
  }
  std::unique_ptr<Session> open_model(const plan::Plan& plan) {
    Result<std::unique_ptr<Session>> session = engine::open(plan);
    EXPECT_TRUE(session.ok()) << session.error().message;
    return session ? std::move(*session) : nullptr;
  }

  std::string folder_;
};

Status run_once(Session& session, const TensorView& input, Output& output, RunTimes* times = nullptr) {
  const int wanted = 0;
  return session.run({&input, 1}, {&wanted, 1}, {&output, 1}, times);
}

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

TEST_F(OnnxRuntimeSession, RunsEveryElementTypeThatTheProtocolNames) {
  struct Case {
    int onnx;
    DataType ours;
  };
  constexpr Case kCases[] = {{1, DataType::kFp32},   {2, DataType::kUint8},   {3, DataType::kInt8},
                             {4, DataType::kUint16}, {5, DataType::kInt16},   {6, DataType::kInt32},
                             {7, DataType::kInt64},  {9, DataType::kBool},    {10, DataType::kFp16},
                             {11, DataType::kFp64},  {12, DataType::kUint32}, {13, DataType::kUint64},
                             {16, DataType::kBf16}};
  for (const Case& type : kCases) {
    SCOPED_TRACE(data_type_name(type.ours));
    std::unique_ptr<Session> session = open_model(plan_for(identity(type.onnx)));
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(session->signature().inputs[0].type, type.ours);
    Buffer data(4 * data_type_size(type.ours));
    for (size_t i = 0; i < data.size(); ++i) data.data()[i] = static_cast<std::byte>(i % 2);
    Output output;
    ASSERT_TRUE(run_once(*session, {type.ours, {1, 4}, data.span()}, output).ok());
    EXPECT_EQ(output.type, type.ours);
    ASSERT_EQ(output.data.size(), data.size());
    EXPECT_EQ(std::memcmp(output.data.data(), data.data(), data.size()), 0);
  }
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

TEST_F(OnnxRuntimeSession, WritesIntoTheCallersMemory) {
  std::unique_ptr<Session> session = open_model(plan_for(identity(kFloat)));
  ASSERT_NE(session, nullptr);
  std::array<float, 8> in = {1, 2, 3, 4, 5, 6, 7, 8}, out{};
  Output output{DataType::kFp32, {2, 4}, std::as_writable_bytes(std::span(out)), nullptr};
  RunTimes times;
  ASSERT_TRUE(run_once(*session, {DataType::kFp32, {2, 4}, std::as_bytes(std::span(in))}, output, &times).ok());
  EXPECT_EQ(out, in);
  EXPECT_EQ(output.owner, nullptr);
  EXPECT_GT(times.compute.count(), 0);
}

// Tensors are kept from run to run on a thread: content, address, shape and session may change between them.
TEST_F(OnnxRuntimeSession, EachRunReadsWhatItsMemoryHoldsThen) {
  std::unique_ptr<Session> one = open_model(plan_for(identity(kFloat)));
  std::unique_ptr<Session> two = open_model(plan_for(identity(7)));  // INT64
  ASSERT_TRUE(one != nullptr && two != nullptr);
  std::array<float, 8> in{}, out{};
  std::array<int64_t, 8> wide_in{}, wide_out{};
  for (int i = 0; i < 6; ++i) {
    const int64_t rows = 1 + i % 2;
    const auto count = static_cast<size_t>(rows) * 4;
    in.fill(static_cast<float>(i));
    wide_in.fill(i);
    Output output{DataType::kFp32, {rows, 4}, std::as_writable_bytes(std::span(out)).first(count * 4), nullptr};
    Output wide{DataType::kInt64, {rows, 4}, std::as_writable_bytes(std::span(wide_out)).first(count * 8), nullptr};
    ASSERT_TRUE(
        run_once(*one, {DataType::kFp32, {rows, 4}, std::as_bytes(std::span(in)).first(count * 4)}, output).ok());
    ASSERT_TRUE(
        run_once(*two, {DataType::kInt64, {rows, 4}, std::as_bytes(std::span(wide_in)).first(count * 8)}, wide).ok());
    EXPECT_EQ(out[count - 1], static_cast<float>(i));
    EXPECT_EQ(wide_out[count - 1], i);
  }
}

TEST_F(OnnxRuntimeSession, AnOutputOutlivesItsSession) {
  std::unique_ptr<Session> session = open_model(plan_for(identity(kFloat)));
  ASSERT_NE(session, nullptr);
  std::array<float, 4> in = {1, 2, 3, 4};
  Output output;
  ASSERT_TRUE(run_once(*session, {DataType::kFp32, {1, 4}, std::as_bytes(std::span(in))}, output).ok());
  session.reset();
  EXPECT_EQ(std::memcmp(output.data.data(), in.data(), sizeof in), 0);
}

TEST_F(OnnxRuntimeSession, RefusesWrongTypesShapesAndSizes) {
  std::unique_ptr<Session> session = open_model(plan_for(identity(kFloat)));
  ASSERT_NE(session, nullptr);
  std::array<float, 8> in{};
  auto bytes = std::as_bytes(std::span(in));
  Output output;
  Status wrong_type = run_once(*session, {DataType::kInt32, {2, 4}, bytes}, output);
  ASSERT_FALSE(wrong_type.ok());
  EXPECT_NE(wrong_type.error().message.find("'x' is INT32"), std::string::npos) << wrong_type.error().message;
  EXPECT_FALSE(run_once(*session, {DataType::kFp32, {1, 4}, bytes}, output).ok());  // more bytes than the shape holds
  EXPECT_FALSE(run_once(*session, {DataType::kFp32, {-1, 4}, bytes}, output).ok());
  EXPECT_FALSE(run_once(*session, {DataType::kFp32, {1, 8}, bytes}, output).ok());  // the model has 4 columns
  EXPECT_FALSE(run_once(*session, {DataType::kInvalid, {}, {}}, output).ok());      // not optional
  std::array<float, 4> small{};
  Output too_small{DataType::kFp32, {1, 4}, std::as_writable_bytes(std::span(small)), nullptr};
  EXPECT_FALSE(run_once(*session, {DataType::kFp32, {2, 4}, bytes}, too_small).ok());
  EXPECT_TRUE(run_once(*session, {DataType::kFp32, {2, 4}, bytes}, output).ok()) << "still usable";
}

TEST_F(OnnxRuntimeSession, RunsAnEmptyBatch) {
  std::unique_ptr<Session> session = open_model(plan_for(identity(kFloat)));
  ASSERT_NE(session, nullptr);
  Output output;
  ASSERT_TRUE(run_once(*session, {DataType::kFp32, {0, 4}, {}}, output).ok());
  EXPECT_EQ(output.shape, (Shape{0, 4}));
}

TEST_F(OnnxRuntimeSession, RunsFromSeveralThreadsAtOnce) {
  std::unique_ptr<Session> session = open_model(plan_for(identity(kFloat)));
  ASSERT_NE(session, nullptr);
  std::array<int, 4> wrong{};
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < wrong.size(); ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 200; ++i) {
          std::array<float, 4> in = {static_cast<float>(t), static_cast<float>(i), 0, 0};
          Output output;
          if (!run_once(*session, {DataType::kFp32, {1, 4}, std::as_bytes(std::span(in))}, output).ok() ||
              std::memcmp(output.data.data(), in.data(), sizeof in) != 0)
            ++wrong[t];
        }
      });
  }
  EXPECT_EQ(wrong, (std::array<int, 4>{}));
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

TEST_F(OnnxRuntimeSession, WhatCannotBeLoadedSaysWhyAndWhatToDo) {
  plan::Plan missing = plan_for(identity(kFloat));
  missing.model = folder_ + "/none.onnx";
  Result<std::unique_ptr<Session>> session = engine::open(missing);
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, Code::kNotFound) << session.error().message;
  EXPECT_NE(session.error().message.find("Check the path"), std::string::npos) << session.error().message;

  session = engine::open(plan_for("this is not a model"));
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, Code::kInvalid) << session.error().message;

  session =
      engine::open(plan_for(model(node("NoSuchOperator", "n", {"x"}, "y"), block(11, value_info("x", kFloat, {1})),
                                  block(12, value_info("y", kFloat, {1})))));
  ASSERT_FALSE(session.ok());
  EXPECT_NE(session.error().message.find("NoSuchOperator"), std::string::npos) << session.error().message;
}

TEST_F(OnnxRuntimeSession, AnOutputThatIsASequenceIsRefusedByName) {
  std::string sequence = block(1, "y") + block(2, block(4, block(1, block(1, number(1, kFloat)))));
  Result<std::unique_ptr<Session>> session = engine::open(plan_for(
      model(node("SequenceConstruct", "n", {"x"}, "y"), block(11, value_info("x", kFloat, {1})), block(12, sequence))));
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, Code::kUnsupported);
  EXPECT_NE(session.error().message.find("'y' is a sequence"), std::string::npos) << session.error().message;
}

TEST_F(OnnxRuntimeSession, AnotherDeviceIsAnErrorThatNamesWhatThereIs) {
  plan::Plan plan = plan_for(identity(kFloat));
  plan.device = "cuda:0";
  Result<std::unique_ptr<Session>> session = engine::open(plan);
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, Code::kUnsupported);
  EXPECT_NE(session.error().message.find("CPUExecutionProvider"), std::string::npos) << session.error().message;
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
  EXPECT_NE(session.error().message.find("onnxruntime, openvino and fake"), std::string::npos);
}

}  // namespace
}  // namespace ridge::engine::onnxruntime
