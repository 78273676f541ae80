#include "front/http/generate_response.h"

#include <gtest/gtest.h>

#include <cmath>

#include "front/http/test_outputs.h"

namespace ridge::front::http {
namespace {

std::string text_of(const Result<Response>& response) {
  return response ? response->text : "error: " + response.error().message;
}

std::string answer(std::vector<serve::ResponseOutput> outputs, std::string id = "") {
  return text_of(encode_generate_response({"m", 3, std::move(id), std::move(outputs)}));
}

const serve::ResponseOutput kText = texts("text_output", std::string_view("\3\0\0\0a\nb", 7), {1, 1});

TEST(GenerateResponse, OneElementIsAValueAndSeveralAreAFlatList) {
  EXPECT_EQ(answer({kText, output_with<int32_t>("score", DataType::kInt32, {1, 2, 2}, {1, 2, 3, 4})}, "7"),
            R"({"model_name":"m","model_version":"3","id":"7","text_output":"a\nb","score":[1,2,3,4]})");
  EXPECT_EQ(answer({output_with<float>("y", DataType::kFp32, {}, {0.5F}),
                    output_with<uint8_t>("z", DataType::kBool, {0, 2}, {}),
                    output_with<uint8_t>("b", DataType::kBool, {1}, {1})}),
            R"({"model_name":"m","model_version":"3","y":0.5,"z":[],"b":true})");
}

TEST(GenerateResponse, AnEventIsOneLineOfTheSameObject) {
  const serve::InferResponse done{"m", 3, "", {kText}};
  Result<Response> event = encode_generate_event(done);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->content_type, "text/event-stream; charset=utf-8");
  EXPECT_EQ(event->text, "data: " + text_of(encode_generate_response(done)) + "\n\n");
  EXPECT_EQ(event->text.find('\n'), event->text.size() - 2);
}

TEST(GenerateResponse, RefusesWhatItCannotExpress) {
  EXPECT_NE(answer({output_with<float>("y", DataType::kFp32, {1}, {NAN})}).find("error: output 'y'"),
            std::string::npos);
  EXPECT_EQ(answer({texts("y", std::string_view("\1\0\0\0\xff", 5), {1})}).substr(0, 6), "error:");
  for (const char* name : {"model_name", "model_version", "id"})
    EXPECT_EQ(answer({output_with<int8_t>(name, DataType::kInt8, {1}, {1})}, "7").substr(0, 6), "error:") << name;
  EXPECT_EQ(answer({output_with<int8_t>("id", DataType::kInt8, {1}, {1})}),
            R"({"model_name":"m","model_version":"3","id":1})");
}

}  // namespace
}  // namespace ridge::front::http
