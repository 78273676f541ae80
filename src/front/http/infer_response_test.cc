#include "front/http/infer_response.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "front/json_text.h"

namespace ridge::front::http {
namespace {

serve::ResponseOutput output_of(std::string name, DataType type, Shape shape, std::string_view bytes) {
  auto owner = std::make_shared<std::string>(bytes);
  return {std::move(name), type, std::move(shape), std::as_bytes(std::span(*owner)), owner};
}

template <typename T>
std::string packed(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

serve::InferResponse answer_of(std::vector<serve::ResponseOutput> outputs) { return {"m", 3, "", std::move(outputs)}; }

Result<Response> encode_json(DataType type, Shape shape, std::string_view bytes) {
  return encode_infer_response(answer_of({output_of("y", type, std::move(shape), bytes)}), {});
}

TEST(InferResponse, WritesFlatJson) {
  auto response = encode_json(DataType::kFp32, {2, 2}, packed<float>({1, -0.0f, 0.1f, 1e-30f}));
  ASSERT_TRUE(response);
  EXPECT_EQ(response->text,
            R"({"model_name":"m","model_version":"3","outputs":[{"name":"y","datatype":"FP32","shape":[2,2],)"
            R"("data":[1.0,-0.0,0.1,1e-30]}]})");
  EXPECT_EQ(response->content_type, "application/json");
  EXPECT_FALSE(response->has_inference_length);
}

TEST(InferResponse, OfTensorsInRegionsOnlyNameTypeAndShapeAreTold) {
  serve::ResponseOutput there = output_of("y", DataType::kFp32, {2, 2}, "");
  there.in_region = true;
  auto response = encode_infer_response(answer_of({there, output_of("z", DataType::kInt8, {1}, packed<int8_t>({7}))}),
                                        {.binary = true, .binary_outputs = {}});
  ASSERT_TRUE(response);
  EXPECT_EQ(response->text,
            R"({"model_name":"m","model_version":"3","outputs":[{"name":"y","datatype":"FP32","shape":[2,2]},)"
            R"({"name":"z","datatype":"INT8","shape":[1],"parameters":{"binary_data_size":1}}]})");
  EXPECT_EQ(response->blobs.size(), 1u);
}

TEST(InferResponse, WritesEveryTypeExactly) {
  auto data_of = [](DataType type, std::string_view bytes, int64_t count) {
    auto response = encode_json(type, {count}, bytes);
    if (!response) return response.error().message;
    size_t at = response->text.find("\"data\":") + 7;
    return response->text.substr(at, response->text.size() - at - 3);
  };
  EXPECT_EQ(data_of(DataType::kBool, packed<uint8_t>({1, 0}), 2), "[true,false]");
  EXPECT_EQ(data_of(DataType::kInt8, packed<int8_t>({-128, 127}), 2), "[-128,127]");
  EXPECT_EQ(data_of(DataType::kUint8, packed<uint8_t>({255}), 1), "[255]");
  EXPECT_EQ(data_of(DataType::kInt64, packed<int64_t>({INT64_MIN, INT64_MAX}), 2),
            "[-9223372036854775808,9223372036854775807]");
  EXPECT_EQ(data_of(DataType::kUint64, packed<uint64_t>({UINT64_MAX}), 1), "[18446744073709551615]");
  EXPECT_EQ(data_of(DataType::kFp64, packed<double>({0.1, 5e-324}), 2), "[0.1,5e-324]");
  EXPECT_EQ(data_of(DataType::kBytes, std::string("\2\0\0\0a\n\4\0\0\0\xF0\x9F\x98\x80\0\0\0\0", 18), 3),
            "[\"a\\n\",\"\xF0\x9F\x98\x80\",\"\"]");
  EXPECT_EQ(data_of(DataType::kFp32, "", 0), "[]");
}

TEST(InferResponse, FloatsSurviveTheRoundTripBitForBit) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    auto single = std::bit_cast<float>(static_cast<uint32_t>(random()));
    auto twice = std::bit_cast<double>(random());
    std::string text;
    if (std::isfinite(single)) {
      append_json_number(text, single);
      EXPECT_EQ(std::bit_cast<uint32_t>(std::strtof(text.c_str(), nullptr)), std::bit_cast<uint32_t>(single)) << text;
    }
    text.clear();
    if (std::isfinite(twice)) {
      append_json_number(text, twice);
      EXPECT_EQ(std::bit_cast<uint64_t>(nlohmann::json::parse(text).get<double>()), std::bit_cast<uint64_t>(twice))
          << text;
    }
  }
}

TEST(InferResponse, PutsBinaryTensorsBehindTheJsonInOrder) {
  AnswerFormat format{.binary = false, .binary_outputs = {true, false, true}};
  serve::InferResponse answer =
      answer_of({output_of("a", DataType::kUint8, {2}, "12"), output_of("b", DataType::kUint8, {1}, "A"),
                 output_of("c", DataType::kUint8, {1}, "3")});
  answer.id = "i\"d";
  const std::byte* first = answer.outputs[0].data.data();
  auto response = encode_infer_response(std::move(answer), format);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->content_type, "application/octet-stream");
  EXPECT_TRUE(response->has_inference_length);
  EXPECT_EQ(response->inference_length, response->text.size());
  ASSERT_EQ(response->blobs.size(), 2u);
  EXPECT_EQ(response->blobs[0].data(), first) << "the tensor was copied";
  nlohmann::json json = nlohmann::json::parse(response->text);
  EXPECT_EQ(json["id"], "i\"d");
  EXPECT_EQ(json["outputs"][0]["parameters"]["binary_data_size"], 2);
  EXPECT_FALSE(json["outputs"][0].contains("data"));
  EXPECT_FALSE(json["outputs"][1].contains("parameters"));
  EXPECT_EQ(json["outputs"][1]["data"][0], 65);
}

TEST(InferResponse, HasNoHeaderLengthWithoutBinaryBytes) {
  auto response = encode_infer_response(answer_of({output_of("a", DataType::kFp32, {0}, "")}),
                                        {.binary = true, .binary_outputs = {}});
  ASSERT_TRUE(response);
  EXPECT_FALSE(response->has_inference_length);
  EXPECT_EQ(response->content_type, "application/json");
}

TEST(InferResponse, RefusesWhatJsonCannotSay) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
  for (auto [type, bytes, says] : std::vector<std::tuple<DataType, std::string, std::string>>{
           {DataType::kFp32, packed<float>({1, nan}), "element 1 is NaN"},
           {DataType::kFp32, packed<float>({infinite}), "element 0 is infinite"},
           {DataType::kFp16, "12", "FP16 has no JSON form"},
           {DataType::kBf16, "12", "BF16 has no JSON form"},
           {DataType::kBytes, std::string("\1\0\0\0\xFF", 5), "not UTF-8"}}) {
    auto response = encode_json(type, {1}, bytes);
    ASSERT_FALSE(response) << says;
    EXPECT_EQ(response.error().code, Code::kInvalid);
    EXPECT_NE(response.error().message.find(says), std::string::npos) << response.error().message;
    EXPECT_NE(response.error().message.find("output 'y'"), std::string::npos);
  }
}

TEST(JsonText, EscapesAndRepairs) {
  std::string text;
  append_json_string(text, std::string("a\"\\\n\0\x1f\x7f", 7));
  EXPECT_EQ(text, "\"a\\\"\\\\\\n\\u0000\\u001f\x7f\"");
  text.clear();
  append_json_string(text, "ok \xC3\xA4 bad \xC3 \xFF end \xE2\x82");
  EXPECT_EQ(text, "\"ok \xC3\xA4 bad \xEF\xBF\xBD \xEF\xBF\xBD end \xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace ridge::front::http
