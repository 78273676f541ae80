#include "front/http/predict_response.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "front/http/test_outputs.h"

namespace ridge::front::http {
namespace {

constexpr std::string_view kFooAndByte("\3\0\0\0foo\1\0\0\0\xff", 12);

std::string answer(std::vector<serve::ResponseOutput> outputs, PredictForm form) {
  Result<Response> response = encode_predict_response({"m", 1, "", std::move(outputs)}, form);
  return response ? response->text : "error: " + response.error().message;
}

TEST(PredictResponse, TheOnlyOutputHasNoName) {
  const auto y = output_with<float>("y", DataType::kFp32, {2, 1, 2}, {1, 2, 3, 4});
  EXPECT_EQ(answer({y}, PredictForm::kRows), R"({"predictions":[[[1.0,2.0]],[[3.0,4.0]]]})");
  EXPECT_EQ(answer({y}, PredictForm::kColumns), R"({"outputs":[[[1.0,2.0]],[[3.0,4.0]]]})");
  EXPECT_EQ(answer({output_with<int32_t>("y", DataType::kInt32, {}, {7})}, PredictForm::kColumns), R"({"outputs":7})");
  EXPECT_EQ(answer({output_with<float>("y", DataType::kFp32, {2, 0, 3}, {})}, PredictForm::kRows),
            R"({"predictions":[[],[]]})");
}

TEST(PredictResponse, SeveralOutputsAreRowsOrColumns) {
  const auto label = texts("label", std::string_view("\1\0\0\0a\2\0\0\0bc", 11), {2});
  const auto score = output_with<int32_t>("score", DataType::kInt32, {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(answer({label, score}, PredictForm::kRows),
            R"({"predictions":[{"label":"a","score":[1,2]},{"label":"bc","score":[3,4]}]})");
  EXPECT_EQ(answer({label, score}, PredictForm::kColumns), R"({"outputs":{"label":["a","bc"],"score":[[1,2],[3,4]]}})");
}

TEST(PredictResponse, BinaryOutputsAreBase64) {
  EXPECT_EQ(answer({texts("image_bytes", kFooAndByte, {2})}, PredictForm::kRows),
            R"({"predictions":[{"b64":"Zm9v"},{"b64":"/w=="}]})");
  EXPECT_NE(answer({texts("image", kFooAndByte, {2})}, PredictForm::kRows).find("error: output 'image'"),
            std::string::npos);
}

TEST(PredictResponse, RefusesOutputsWithoutCommonRowsAndNumbersWithoutJson) {
  const auto two = output_with<int8_t>("two", DataType::kInt8, {2}, {1, 2});
  const auto three = output_with<int8_t>("three", DataType::kInt8, {3}, {1, 2, 3});
  EXPECT_NE(answer({two, three}, PredictForm::kRows).find("'two' and 'three'"), std::string::npos);
  EXPECT_EQ(answer({two, three}, PredictForm::kColumns), R"({"outputs":{"two":[1,2],"three":[1,2,3]}})");
  EXPECT_EQ(answer({output_with<int8_t>("y", DataType::kInt8, {}, {1})}, PredictForm::kRows).substr(0, 6), "error:");
  EXPECT_NE(answer({output_with<float>("y", DataType::kFp32, {1, 2}, {1, NAN})}, PredictForm::kRows).find("element 1"),
            std::string::npos);
}

}  // namespace
}  // namespace ridge::front::http
