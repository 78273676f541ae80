// For the engines' tests: a model in a folder of the test's own, opened by an engine.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "base/file.h"
#include "engine/engine.h"

namespace ridge::engine {

// Skips where the engine is not installed.
class SessionTest : public testing::Test {
 protected:
  explicit SessionTest(std::string engine) : engine_(std::move(engine)) {}

  void SetUp() override {
    plan::Plan plan;
    plan.engine = engine_;
    if (Result<Info> found = find_engine(plan); !found) GTEST_SKIP() << found.error().message;
    std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    std::replace(name.begin(), name.end(), '/', '-');
    folder_ = testing::TempDir() + "/" + name + std::to_string(getpid());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Plans the model of those bytes, on one thread.
  plan::Plan plan_for(const std::string& bytes) const {
    plan::Plan plan;
    plan.engine = engine_;
    plan.model = folder_ + "/model.onnx";
    plan.threads = 1;
    EXPECT_TRUE(write_file_atomically(plan.model, bytes).ok());
    return plan;
  }
  static std::unique_ptr<Session> open_model(const plan::Plan& plan) {
    Result<std::unique_ptr<Session>> session = engine::open(plan);
    EXPECT_TRUE(session.ok()) << session.error().message;
    return session ? std::move(*session) : nullptr;
  }

  std::string engine_, folder_;
};

// The first input and the first output.
inline Status run_once(Session& session, const TensorView& input, Output& output, RunTimes* times = nullptr) {
  const int wanted = 0;
  return session.run({&input, 1}, {&wanted, 1}, {&output, 1}, times);
}

}  // namespace ridge::engine
