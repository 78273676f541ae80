// Common behaviour of every engine's sessions.
#include <gtest/gtest.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include <array>
#include <cstring>
#include <thread>

#include "engine/engines.h"
#include "engine/test_model.h"
#include "engine/test_session.h"

namespace ridge::engine {
namespace {

using test_model::block;
using test_model::identity;
using test_model::kFloat;
using test_model::model;
using test_model::node;
using test_model::value_info;

std::vector<std::string> names_of_engines() {
  std::vector<std::string> names;
  for (const Engine& engine : known())
    if (!engine.for_tests) names.emplace_back(engine.name);
  return names;
}

class EverySession : public SessionTest, public testing::WithParamInterface<std::string> {
 protected:
  EverySession() : SessionTest(GetParam()) {}
};

INSTANTIATE_TEST_SUITE_P(Engines, EverySession, testing::ValuesIn(names_of_engines()),
                         [](const auto& engine) { return engine.param; });

TEST_P(EverySession, RunsEveryElementTypeThatTheProtocolNames) {
  struct Case {
    int onnx;
    DataType ours;
    uint64_t one = 1;
  };
  constexpr Case kTypes[] = {{1, DataType::kFp32, 0x3f800000},
                             {2, DataType::kUint8},
                             {3, DataType::kInt8},
                             {4, DataType::kUint16},
                             {5, DataType::kInt16},
                             {6, DataType::kInt32},
                             {7, DataType::kInt64},
                             {9, DataType::kBool},
                             {10, DataType::kFp16, 0x3c00},
                             {11, DataType::kFp64, 0x3ff0000000000000},
                             {12, DataType::kUint32},
                             {13, DataType::kUint64},
                             {16, DataType::kBf16, 0x3f80}};
  for (const auto& [onnx, ours, one] : kTypes) {
    SCOPED_TRACE(data_type_name(ours));
    std::unique_ptr<Session> session = open_model(plan_for(identity(onnx)));
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(session->signature().inputs[0].type, ours);
    const size_t size = data_type_size(ours);
    Buffer data(4 * size);  // 0 1 0 1: the engine computes wide integers in 32 bits
    std::memset(data.data(), 0, data.size());
    for (size_t i : {1, 3}) std::memcpy(data.data() + i * size, &one, size);
    Output output;
    Status ran = run_once(*session, {ours, {1, 4}, data.span()}, output);
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_EQ(output.type, ours);
    ASSERT_EQ(output.data.size(), data.size());
    EXPECT_EQ(std::memcmp(output.data.data(), data.data(), data.size()), 0);
  }
}

TEST_P(EverySession, WritesIntoTheCallersMemory) {
  plan::Plan open = plan_for(identity(kFloat)), fixed = open;
  fixed.shapes = {{"x", {2, 4}}};
  for (const plan::Plan& plan : {open, fixed}) {
    std::unique_ptr<Session> session = open_model(plan);
    ASSERT_NE(session, nullptr);
    std::array<float, 8> in = {1, 2, 3, 4, 5, 6, 7, 8}, out{};
    Output output{DataType::kFp32, {2, 4}, std::as_writable_bytes(std::span(out)), nullptr};
    RunTimes times;
    ASSERT_TRUE(run_once(*session, {DataType::kFp32, {2, 4}, std::as_bytes(std::span(in))}, output, &times).ok());
    EXPECT_EQ(out, in);
    EXPECT_EQ(output.owner, nullptr);
    EXPECT_GT(times.compute.count(), 0);
  }
}

// Tensors persist between runs on a thread: content, address, shape and session may change between them.
TEST_P(EverySession, EachRunReadsWhatItsMemoryHoldsThen) {
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

TEST_P(EverySession, AnOutputOutlivesItsSession) {
  std::unique_ptr<Session> session = open_model(plan_for(identity(kFloat)));
  ASSERT_NE(session, nullptr);
  std::array<float, 4> in = {1, 2, 3, 4};
  Output output;
  ASSERT_TRUE(run_once(*session, {DataType::kFp32, {1, 4}, std::as_bytes(std::span(in))}, output).ok());
  session.reset();
  EXPECT_EQ(std::memcmp(output.data.data(), in.data(), sizeof in), 0);
}

TEST_P(EverySession, RefusesWrongTypesShapesAndSizes) {
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
  EXPECT_FALSE(run_once(*session, {DataType::kInvalid, {}, {}}, output).ok());
  std::array<float, 4> small{};  // one thread: the engine's synchronous call would lose this error
  Output too_small{DataType::kFp32, {1, 4}, std::as_writable_bytes(std::span(small)), nullptr};
  Status overrun = run_once(*session, {DataType::kFp32, {2, 4}, bytes}, too_small);
  EXPECT_FALSE(overrun.ok());
  EXPECT_TRUE(run_once(*session, {DataType::kFp32, {2, 4}, bytes}, output).ok()) << "still usable";
}

TEST_P(EverySession, RunsAnEmptyBatch) {
  std::unique_ptr<Session> session = open_model(plan_for(identity(kFloat)));
  ASSERT_NE(session, nullptr);
  Output output;
  Status ran = run_once(*session, {DataType::kFp32, {0, 4}, {}}, output);
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  EXPECT_EQ(output.shape, (Shape{0, 4}));
}

TEST_P(EverySession, RunsFromSeveralThreadsAtOnce) {
  plan::Plan plan = plan_for(identity(kFloat));
  if (engine_ == "openvino") plan.options = {{"NUM_STREAMS", "2"}};
  std::unique_ptr<Session> session = open_model(plan);
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

TEST_P(EverySession, WhatCannotBeLoadedSaysWhyAndWhatToDo) {
#ifdef __SANITIZE_ADDRESS__
  // OpenVINO's readers leak 8 bytes, without an owner visible to the leak checker.
  const __lsan::ScopedDisabler leaks;
#endif
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

}  // namespace
}  // namespace ridge::engine
