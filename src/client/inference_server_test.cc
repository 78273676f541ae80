#include "client/inference_server.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

namespace ridge::client {
namespace {

Json json(std::string_view text) { return parse_json(text, "test").value(); }

TEST(InferenceServer, ReadsAModelsMetadata) {
  const auto model = read_model(json(R"({"name": "m", "versions": ["1", "2"], "platform": "x",
      "inputs": [{"name": "a", "datatype": "FP32", "shape": [-1, 3]}, {"name": "b", "datatype": "INT64", "shape": ["-1", "8"]}],
      "outputs": [{"name": "y", "datatype": "BYTES", "shape": []}]})"));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->versions, (std::vector<std::string>{"1", "2"}));
  ASSERT_EQ(model->inputs.size(), 2u);
  EXPECT_EQ(model->inputs[0].shape, (Shape{-1, 3}));
  EXPECT_EQ(model->inputs[1].type, DataType::kInt64);
  EXPECT_EQ(model->inputs[1].shape, (Shape{-1, 8})) << "64-bit integers may be text";
  EXPECT_EQ(model->outputs[0].type, DataType::kBytes);
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
   "inference_stats": {"success": {"count": 10, "ns": 100}, "fail": {"count": 1, "ns": 5}, "queue": {"count": 10, "ns": 1000000},
     "compute_input": {"count": 10, "ns": 0}, "compute_infer": {"count": 10, "ns": 50000000}, "compute_output": {"count": 10, "ns": 0}},
   "batch_stats": [{"batch_size": 1, "compute_infer": {"count": 10, "ns": 1}}]}]})";
constexpr const char* kAfter = R"({"model_stats": [
  {"name": "m", "version": "2", "inference_count": 50, "execution_count": 20,
   "inference_stats": {"success": {"count": 30, "ns": 100}, "fail": {"count": 4, "ns": 5}, "queue": {"count": 30, "ns": 41000000},
     "compute_input": {"count": 30, "ns": 2000000}, "compute_infer": {"count": 30, "ns": 150000000}, "compute_output": {"count": 30, "ns": 1000000}},
   "batch_stats": [{"batch_size": 1, "compute_infer": {"count": 10, "ns": 1}}, {"batch_size": 4, "compute_infer": {"count": 10, "ns": 1}}]}]})";

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

Tensor tensor_of(DataType type, Shape shape, std::string_view bytes) {
  Tensor tensor{type, std::move(shape), Buffer(bytes.size())};
  std::memcpy(tensor.data.data(), bytes.data(), bytes.size());
  return tensor;
}

TEST(InferRequest, BinaryTensorsFollowTheJsonInItsOrder) {
  const std::vector<TensorSpec> specs = {{"a", DataType::kUint8, {2}}, {"b", DataType::kBool, {1}}};
  const Tensor a = tensor_of(DataType::kUint8, {2}, "xy"), b = tensor_of(DataType::kBool, {1}, "\1");
  const auto body = infer_body(specs, std::vector<const Tensor*>{&a, &b}, Payload::kBinary);
  ASSERT_TRUE(body);
  const Json head = json(std::string_view(body->bytes).substr(0, body->json_size));
  EXPECT_EQ(head["inputs"][0]["name"], "a");
  EXPECT_EQ(head["inputs"][0]["datatype"], "UINT8");
  EXPECT_EQ(head["inputs"][0]["shape"], Json::array({2}));
  EXPECT_EQ(head["inputs"][0]["parameters"]["binary_data_size"], 2);
  EXPECT_FALSE(head["inputs"][0].contains("data"));
  EXPECT_EQ(head["parameters"]["binary_data_output"], true);
  EXPECT_EQ(body->bytes.substr(body->json_size), "xy\1");
}

TEST(InferRequest, AsJsonEveryTypeHasItsValues) {
  const float real = 0.1f;
  const int64_t large = -9007199254740993;
  std::string_view real_bytes(reinterpret_cast<const char*>(&real), sizeof real);
  std::string_view large_bytes(reinterpret_cast<const char*>(&large), sizeof large);
  const std::vector<TensorSpec> specs = {{"f", DataType::kFp32, {1}},
                                         {"i", DataType::kInt64, {1}},
                                         {"s", DataType::kBytes, {2}},
                                         {"b", DataType::kBool, {2}}};
  const Tensor f = tensor_of(DataType::kFp32, {1}, real_bytes), i = tensor_of(DataType::kInt64, {1}, large_bytes),
               s = tensor_of(DataType::kBytes, {2}, std::string_view("\2\0\0\0hi\0\0\0\0", 10)),
               b = tensor_of(DataType::kBool, {2}, std::string_view("\0\1", 2));
  const auto body = infer_body(specs, std::vector<const Tensor*>{&f, &i, &s, &b}, Payload::kJson);
  ASSERT_TRUE(body);
  EXPECT_EQ(body->json_size, 0u) << "no header says how much of it is JSON";
  const Json request = json(body->bytes);
  EXPECT_EQ(request["inputs"][0]["data"][0].get<float>(), real);
  EXPECT_EQ(request["inputs"][1]["data"][0].get<int64_t>(), large);
  EXPECT_EQ(request["inputs"][2]["data"], Json::array({"hi", ""}));
  EXPECT_EQ(request["inputs"][3]["data"], Json::array({false, true}));
}

TEST(InferRequest, WhatHasNoJsonFormIsAnError) {
  const float infinite = std::numeric_limits<float>::infinity();
  const Tensor half = tensor_of(DataType::kFp16, {1}, "xx"),
               endless = tensor_of(DataType::kFp32, {1}, {reinterpret_cast<const char*>(&infinite), sizeof infinite});
  for (const Tensor* tensor : {&half, &endless}) {
    const std::vector<TensorSpec> specs = {{"x", tensor->type, {1}}};
    EXPECT_FALSE(infer_body(specs, std::vector<const Tensor*>{tensor}, Payload::kJson));
    EXPECT_TRUE(infer_body(specs, std::vector<const Tensor*>{tensor}, Payload::kBinary));
  }
}

}  // namespace
}  // namespace ridge::client
