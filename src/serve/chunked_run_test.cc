#include "serve/chunked_run.h"

#include <gtest/gtest.h>

#include <array>

#include "serve/test_session.h"

namespace ridge::serve {
namespace {

using Rows = std::vector<int64_t>;

TEST(PartsOf, TakesTheLargestPreparedNumberThatFits) {
  const Rows prepared = {1, 2, 3, 4, 8, 16};
  EXPECT_EQ(parts_of(3, prepared), (Rows{3}));
  EXPECT_EQ(parts_of(23, prepared), (Rows{16, 4, 3}));
  EXPECT_EQ(parts_of(40, prepared), (Rows{16, 16, 8}));
}

// x FP32 [-1,2] → y = x in place, z = x in the engine's memory.
class PartedRun : public testing::Test {
 protected:
  PartedRun()
      : session_(
            {{{"x", DataType::kFp32, {-1, 2}}}, {{"y", DataType::kFp32, {-1, 2}}, {"z", DataType::kFp32, {-1, -1}}}},
            [this](auto inputs, auto, auto outputs) {
              rows_.push_back(inputs[0].shape[0]);
              for (engine::Output& output : outputs) give(output, DataType::kFp32, inputs[0].shape, inputs[0].data);
              if (rows_.size() == fail_at_) return Status(Error{Code::kFailed, "no"});
              if (flat_) outputs[1].shape = {};
              return ok_status();
            }) {
    outputs_[0] = {DataType::kFp32, {3, 2}, std::as_writable_bytes(std::span(y_)), nullptr};
  }
  Status run(const Rows& parts) {
    const TensorView input{DataType::kFp32, {3, 2}, std::as_bytes(std::span(x_))};
    const std::array<int, 2> wanted = {0, 1};
    return run_in_parts(session_, parts, {&input, 1}, wanted, outputs_);
  }

  const std::vector<float> x_ = {1, 2, 3, 4, 5, 6};
  std::vector<float> y_ = std::vector<float>(6);
  std::array<engine::Output, 2> outputs_;
  Rows rows_;
  size_t fail_at_ = 0;
  bool flat_ = false;
  TestSession session_;
};

TEST_F(PartedRun, GivesTheRowsInTheirOrderInTheCallersMemoryAndInItsOwn) {
  ASSERT_TRUE(run({2, 1}).ok());
  EXPECT_EQ(rows_, (Rows{2, 1}));
  EXPECT_EQ(y_, x_);
  EXPECT_EQ(outputs_[1].shape, (Shape{3, 2}));
  EXPECT_EQ(floats_of(outputs_[1].data), x_);
}

TEST_F(PartedRun, OnePartIsAnOrdinaryRun) {
  ASSERT_TRUE(run({3}).ok());
  EXPECT_EQ(rows_, (Rows{3}));
  EXPECT_EQ(floats_of(outputs_[1].data), x_);
}

TEST_F(PartedRun, AFailingPartFailsTheWhole) {
  fail_at_ = 2;
  EXPECT_FALSE(run({2, 1}).ok());
}

TEST_F(PartedRun, AnOutputWithoutRowsIsAnErrorThatNamesIt) {
  flat_ = true;
  Status ran = run({2, 1});
  ASSERT_FALSE(ran.ok());
  EXPECT_NE(ran.error().message.find("'z'"), std::string::npos) << ran.error().message;
}

TEST(PartedRunOfStrings, IsNotParted) {
  int runs = 0;
  TestSession session({{{"s", DataType::kBytes, {-1}}}, {{"y", DataType::kBytes, {-1}}}},
                      [&](auto inputs, auto wanted, auto outputs) {
                        ++runs;
                        return TestSession::echo(inputs, wanted, outputs);
                      });
  const std::string block("\1\0\0\0a\0\0\0\0", 9);
  const TensorView input{DataType::kBytes, {2}, std::as_bytes(std::span(block))};
  const int wanted = 0;
  engine::Output output;
  ASSERT_TRUE(run_in_parts(session, Rows{1, 1}, {&input, 1}, {&wanted, 1}, {&output, 1}).ok());
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace ridge::serve
