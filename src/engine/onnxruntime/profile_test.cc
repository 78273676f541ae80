#include "engine/onnxruntime/profile.h"

#include <gtest/gtest.h>

#include <string>

namespace ridge::engine::onnxruntime {
namespace {

std::string kernel(const std::string& name, const std::string& op, int begin, int duration) {
  return R"({"cat":"Node","pid":1,"tid":1,"ph":"X","name":")" + name + R"(_kernel_time","ts":)" +
         std::to_string(begin) + R"(,"dur":)" + std::to_string(duration) + R"(,"args":{"op_name":")" + op +
         R"(","provider":"CPUExecutionProvider","node_index":"0","input_type_shape":[{"float":[1,3]},{}],)" +
         R"("output_type_shape":[{"int64":[1]}]}})";
}
std::string run(int begin, int duration) {
  return R"({"cat":"Session","pid":1,"tid":1,"ph":"X","name":"model_run","ts":)" + std::to_string(begin) +
         R"(,"dur":)" + std::to_string(duration) + "}";
}

TEST(Profile, AveragesANodeOverTheRunsThatCount) {
  std::string trace = "[" + kernel("a", "Relu", 10, 90) + "," + run(0, 110) + "," + kernel("a", "Relu", 210, 4) + "," +
                      run(200, 50) + "," + kernel("a", "Relu", 310, 6) + "," + run(300, 50) + "]";
  Result<std::vector<NodeTime>> nodes = parse_profile(trace, 1);
  ASSERT_TRUE(nodes.ok()) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 1u);
  EXPECT_EQ((*nodes)[0].name, "a");
  EXPECT_EQ((*nodes)[0].op, "Relu");
  EXPECT_EQ((*nodes)[0].runs, 2);
  EXPECT_DOUBLE_EQ((*nodes)[0].mean_us, 5.5);  // (4 + 6) / 2 and half of the truncated microsecond
  EXPECT_EQ((*nodes)[0].inputs[0], (std::pair<DataType, Shape>{DataType::kFp32, {1, 3}}));
  EXPECT_EQ((*nodes)[0].inputs[1].first, DataType::kInvalid);
  EXPECT_EQ((*nodes)[0].outputs[0].first, DataType::kInt64);
}

TEST(Profile, ChargesALoopOnlyWhatItsBodyDoesNotAccountFor) {
  // In the order of the trace: inner nodes end first. The body runs twice.
  std::string trace = "[" + kernel("before", "Relu", 5, 5) + "," + kernel("body", "Add", 25, 10) + "," +
                      kernel("body", "Add", 45, 10) + "," + kernel("loop", "Loop", 20, 50) + "," + run(0, 100) + "]";
  Result<std::vector<NodeTime>> nodes = parse_profile(trace, 0);
  ASSERT_TRUE(nodes.ok()) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 3u);
  EXPECT_EQ((*nodes)[0].name, "before");
  EXPECT_EQ((*nodes)[1].name, "loop");
  EXPECT_DOUBLE_EQ((*nodes)[1].mean_us, 30.5);
  EXPECT_EQ((*nodes)[2].name, "body");
  EXPECT_EQ((*nodes)[2].calls, 2);
  EXPECT_DOUBLE_EQ((*nodes)[2].mean_us, 21);
}

TEST(Profile, TakesTheModelsResultFromTheNameOfABlockedNode) {
  std::string trace = "[" + kernel("r59_nchwc", "Conv", 10, 9) + "," + kernel("r60_bn_nchwc", "Conv", 30, 9) + "," +
                      kernel("plain", "Conv", 50, 9) + "," + run(0, 110) + "]";
  Result<std::vector<NodeTime>> nodes = parse_profile(trace, 0);
  ASSERT_TRUE(nodes.ok()) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 3u);
  EXPECT_EQ((*nodes)[0].sources, std::vector<std::string>{"r59"});
  EXPECT_EQ((*nodes)[1].sources, std::vector<std::string>{"r60"});
  EXPECT_TRUE((*nodes)[2].sources.empty());
}

TEST(Profile, SaysWhenNoRunIsLeft) {
  EXPECT_FALSE(parse_profile("[" + run(0, 10) + "]", 1).ok());
  EXPECT_FALSE(parse_profile("[]", 0).ok());
}

TEST(Profile, RefusesWhatIsNotATrace) {
  EXPECT_FALSE(parse_profile("{}", 0).ok());
  EXPECT_FALSE(parse_profile("[{", 0).ok());
  EXPECT_FALSE(parse_profile(R"([1, "x", null])", 0).ok());
}

}  // namespace
}  // namespace ridge::engine::onnxruntime
