#include "client/inference_server.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ridge::client {
namespace {

Json json(std::string_view text) { return parse_json(text, "test").value(); }

TEST(InferenceServer, ReadsAModelsMetadata) {
  const auto model = read_model(json(R"({"name": "m", "versions": ["1", "2"], "platform": "x",
      "inputs": [{"name": "a", "datatype": "FP32", "shape": [-1, 3]},
                 {"name": "b", "datatype": "INT64", "shape": ["-1", "8"]}],
      "outputs": [{"name": "y", "datatype": "BYTES", "shape": []}]})"));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->versions, (std::vector<std::string>{"1", "2"}));
  ASSERT_EQ(model->inputs.size(), 2u);
  EXPECT_EQ(model->inputs[0].shape, (Shape{-1, 3}));
  EXPECT_EQ(model->inputs[1].type, DataType::kInt64);
  EXPECT_EQ(model->inputs[1].shape, (Shape{-1, 8})) << "64-bit integers may be text";
  EXPECT_EQ(model->outputs[0].type, DataType::kBytes);
}

TEST(InferenceServer, StatisticsOfProtobufsJsonAreRead) {
  const auto read =
      read_statistics(json(R"({"model_stats": [{"version": "1", "inference_count": "12", "execution_count": "3",
      "inference_stats": {"success": {"count": "4", "ns": "8000000"}, "queue": {"count": "4", "ns": "5"}},
      "batch_stats": [{"batch_size": "4", "compute_infer": {"count": "3", "ns": "6"}}]}]})"),
                      "1");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->rows, 12);
  EXPECT_EQ(read->success, 4);
  EXPECT_EQ(read->queue.ns, 5);
  EXPECT_EQ(read->batches, (std::map<int64_t, int64_t>{{4, 3}}));
  EXPECT_FALSE(read_statistics(json(R"({"model_stats": [{"inference_count": "many"}]})"), ""));
}

TEST(InferenceServer, MetadataThatMakesNoSenseIsAnError) {
  for (const char* text :
       {"[]", "{}", R"({"name": 1})", R"({"name": "m"})", R"({"name": "m", "inputs": 3, "outputs": []})",
        R"({"name": "m", "inputs": [3], "outputs": []})",
        R"({"name": "m", "inputs": [{"name": "a", "datatype": "FLOAT", "shape": [1]}], "outputs": []})",
        R"({"name": "m", "inputs": [{"name": "a", "datatype": "FP32", "shape": ["x"]}], "outputs": []})",
        R"({"name": "m", "inputs": [{"name": "a", "datatype": "FP32", "shape": 1}], "outputs": []})"})
    EXPECT_FALSE(read_model(json(text))) << text;
}

constexpr const char* kBefore = R"({"model_stats": [
  {"name": "m", "version": "1", "inference_count": 999, "execution_count": 999, "inference_stats": {}},
  {"name": "m", "version": "2", "inference_count": 10, "execution_count": 10,
   "inference_stats": {"success": {"count": 10, "ns": 100}, "fail": {"count": 1, "ns": 5},
                         "queue": {"count": 10, "ns": 1000000},
     "compute_input": {"count": 10, "ns": 0}, "compute_infer": {"count": 10, "ns": 50000000},
     "compute_output": {"count": 10, "ns": 0}},
   "batch_stats": [{"batch_size": 1, "compute_infer": {"count": 10, "ns": 1}}]}]})";
constexpr const char* kAfter = R"({"model_stats": [
  {"name": "m", "version": "2", "inference_count": 50, "execution_count": 20,
   "inference_stats": {"success": {"count": 30, "ns": 100}, "fail": {"count": 4, "ns": 5},
                         "queue": {"count": 30, "ns": 41000000},
     "compute_input": {"count": 30, "ns": 2000000}, "compute_infer": {"count": 30, "ns": 150000000},
     "compute_output": {"count": 30, "ns": 1000000}},
   "batch_stats": [{"batch_size": 1, "compute_infer": {"count": 10, "ns": 1}},
                    {"batch_size": 4, "compute_infer": {"count": 10, "ns": 1}}]}]})";

TEST(InferenceServer, StatisticsOfALoadAreTheDifferenceOfTwoReadings) {
  const auto before = read_statistics(json(kBefore), "2");
  const auto after = read_statistics(json(kAfter), "2");
  ASSERT_TRUE(before && after);
  const ServerSide side = difference(*before, *after);
  EXPECT_EQ(side.requests, 20);
  EXPECT_EQ(side.failed, 3);
  EXPECT_EQ(side.rows, 40);
  EXPECT_EQ(side.executions, 10);
  EXPECT_DOUBLE_EQ(mean_batch(side), 4);
  EXPECT_DOUBLE_EQ(side.queue_ms, 2);
  EXPECT_DOUBLE_EQ(side.input_ms, 0.1);
  EXPECT_DOUBLE_EQ(side.compute_ms, 5);
  EXPECT_DOUBLE_EQ(side.output_ms, 0.05);
  EXPECT_EQ(side.batches, (std::map<std::string, int64_t>{{"4", 10}}));
  EXPECT_FALSE(read_statistics(json(kAfter), "3"));
  EXPECT_FALSE(read_statistics(json("[]"), "2"));
}

}  // namespace
}  // namespace ridge::client
