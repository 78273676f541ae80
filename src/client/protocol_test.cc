#include "client/protocol.h"

#include <grpc_service.pb.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

namespace ridge::client {
namespace {

const ServerUrl kUrl = parse_server_url("http://h:1/v2/models/m").value();

Tensor tensor_of(DataType type, Shape shape, std::string_view bytes) {
  Tensor tensor{type, std::move(shape), Buffer(bytes.size())};
  std::memcpy(tensor.data.data(), bytes.data(), bytes.size());
  return tensor;
}

// An HTTP request's JSON and the rest of its body.
struct Body {
  Json json;
  std::string rest;
};
Body body_of(const Result<InferRequest>& made) {
  const std::string& bytes = made.value().request.bytes;
  const std::string text = bytes.substr(bytes.find("\r\n\r\n") + 4);
  EXPECT_EQ(text.size(), made->body_size);
  const std::string name = "Inference-Header-Content-Length: ";
  const size_t at = bytes.find(name);
  const size_t size = at == std::string::npos ? text.size() : std::stoul(bytes.substr(at + name.size()));
  return {parse_json(text.substr(0, size), "test").value(), text.substr(size)};
}

TEST(HttpProtocol, BinaryTensorsFollowTheJsonInItsOrder) {
  const std::vector<TensorSpec> specs = {{"a", DataType::kUint8, {2}}, {"b", DataType::kBool, {1}}};
  const Tensor a = tensor_of(DataType::kUint8, {2}, "xy"), b = tensor_of(DataType::kBool, {1}, "\1");
  const auto [head, rest] =
      body_of(http_protocol().infer(kUrl, specs, std::vector<const Tensor*>{&a, &b}, Payload::kBinary));
  EXPECT_EQ(head["inputs"][0]["name"], "a");
  EXPECT_EQ(head["inputs"][0]["datatype"], "UINT8");
  EXPECT_EQ(head["inputs"][0]["shape"], Json::array({2}));
  EXPECT_EQ(head["inputs"][0]["parameters"]["binary_data_size"], 2);
  EXPECT_FALSE(head["inputs"][0].contains("data"));
  EXPECT_EQ(head["parameters"]["binary_data_output"], true);
  EXPECT_EQ(rest, "xy\1");
}

TEST(HttpProtocol, AsJsonEveryTypeHasItsValues) {
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
  const auto [request, rest] =
      body_of(http_protocol().infer(kUrl, specs, std::vector<const Tensor*>{&f, &i, &s, &b}, Payload::kJson));
  EXPECT_EQ(rest, "") << "no header says how much of it is JSON";
  EXPECT_EQ(request["inputs"][0]["data"][0].get<float>(), real);
  EXPECT_EQ(request["inputs"][1]["data"][0].get<int64_t>(), large);
  EXPECT_EQ(request["inputs"][2]["data"], Json::array({"hi", ""}));
  EXPECT_EQ(request["inputs"][3]["data"], Json::array({false, true}));
}

TEST(HttpProtocol, WhatHasNoJsonFormIsAnError) {
  const float infinite = std::numeric_limits<float>::infinity();
  const Tensor half = tensor_of(DataType::kFp16, {1}, "xx"),
               endless = tensor_of(DataType::kFp32, {1}, {reinterpret_cast<const char*>(&infinite), sizeof infinite});
  for (const Tensor* tensor : {&half, &endless}) {
    const std::vector<TensorSpec> specs = {{"x", tensor->type, {1}}};
    EXPECT_FALSE(http_protocol().infer(kUrl, specs, std::vector<const Tensor*>{tensor}, Payload::kJson));
    EXPECT_TRUE(http_protocol().infer(kUrl, specs, std::vector<const Tensor*>{tensor}, Payload::kBinary));
  }
}

// ---------------------------------------------------------------------------------------------------------- gRPC

const ServerUrl kGrpcUrl = parse_server_url("grpc://h:1/v2/models/a%20b/versions/3").value();

// The message behind the five bytes of its length.
template <typename Message>
Message message_of(const Request& request) {
  Message message;
  EXPECT_TRUE(message.ParseFromString(request.bytes.substr(5)));
  return message;
}

Response answer_of(const google::protobuf::Message& message) {
  Response response;
  response.status = 200;
  response.body = message.SerializeAsString();
  return response;
}

TEST(GrpcProtocol, TensorsAreSentAsBytes) {
  const std::vector<TensorSpec> specs = {{"x", DataType::kFp16, {-1, 2}}, {"s", DataType::kBytes, {1}}};
  const Tensor x = tensor_of(DataType::kFp16, {1, 2}, "abcd"), s = tensor_of(DataType::kBytes, {1}, {"\1\0\0\0z", 5});
  const auto made = grpc_protocol().infer(kGrpcUrl, specs, std::vector<const Tensor*>{&x, &s}, Payload::kBinary);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->request.path, "/inference.GRPCInferenceService/ModelInfer");
  EXPECT_EQ(made->body_size + 5, made->request.bytes.size());
  const auto message = message_of<inference::ModelInferRequest>(made->request);
  EXPECT_EQ(message.model_name(), "a b");
  EXPECT_EQ(message.model_version(), "3");
  EXPECT_EQ(message.inputs(0).datatype(), "FP16");
  EXPECT_EQ(message.inputs(0).shape(1), 2);
  EXPECT_EQ(message.raw_input_contents(0), "abcd");
  EXPECT_EQ(message.raw_input_contents(1), std::string("\1\0\0\0z", 5));
  const auto json = grpc_protocol().infer(kGrpcUrl, specs, std::vector<const Tensor*>{&x, &s}, Payload::kJson);
  ASSERT_FALSE(json);
  EXPECT_EQ(json.error().code, Code::kInvalid);
}

TEST(GrpcProtocol, QuestionsNameTheModel) {
  for (const MetadataRequest question : {MetadataRequest::kModel, MetadataRequest::kStatistics}) {
    const auto message = message_of<inference::ModelMetadataRequest>(grpc_protocol().request(kGrpcUrl, question));
    EXPECT_EQ(message.name(), "a b");
    EXPECT_EQ(message.version(), "3");
  }
  EXPECT_EQ(grpc_protocol().request(kGrpcUrl, MetadataRequest::kIndex).path,
            "/inference.GRPCInferenceService/RepositoryIndex");
}

TEST(GrpcProtocol, AnswersHaveTheMembersOfHttps) {
  inference::ModelMetadataResponse model;
  model.set_name("m");
  model.add_versions("1");
  model.add_inputs()->set_name("scalar");
  model.mutable_inputs(0)->set_datatype("FP32");
  const auto metadata = grpc_protocol().read(MetadataRequest::kModel, answer_of(model));
  ASSERT_TRUE(metadata) << metadata.error().message;
  EXPECT_EQ((*metadata)["inputs"][0]["shape"], Json::array()) << "members without a value are there";
  EXPECT_EQ((*metadata)["outputs"], Json::array());

  inference::RepositoryIndexResponse index;
  index.add_models()->set_name("m");
  index.mutable_models(0)->set_state("READY");
  const auto list = grpc_protocol().read(MetadataRequest::kIndex, answer_of(index));
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ((*list)[0]["state"], "READY");

  inference::ModelInferResponse answer;
  answer.set_model_version("7");
  EXPECT_EQ(grpc_protocol().version_of(answer_of(answer)).value(), "7");
}

TEST(GrpcProtocol, AnAnswerThatIsNoMessageIsAnError) {
  Response answer;
  answer.body = "\xff\xff";
  for (const MetadataRequest question :
       {MetadataRequest::kServer, MetadataRequest::kModel, MetadataRequest::kStatistics, MetadataRequest::kIndex})
    EXPECT_FALSE(grpc_protocol().read(question, answer));
  EXPECT_FALSE(grpc_protocol().version_of(answer));
}

}  // namespace
}  // namespace ridge::client
