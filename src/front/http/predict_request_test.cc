#include "front/http/predict_request.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ridge::front::http {
namespace {

serve::ModelMetadata model_of(std::vector<TensorSpec> inputs) {
  serve::ModelMetadata model;
  model.inputs = std::move(inputs);
  return model;
}

const serve::ModelMetadata kOne = model_of({{"x", DataType::kFp32, {-1, 2}}});
const serve::ModelMetadata kTwo = model_of({{"tag", DataType::kBytes, {-1}}, {"signal", DataType::kInt32, {-1, 3}}});

Result<DecodedRequest> decoded_from(std::string_view text, const serve::ModelMetadata& model = kOne) {
  static PredictDecoder decoder;
  Body body;
  body.start(text.size());
  body.append(std::as_bytes(std::span(text)));
  return decoder.decode(body, model);
}

std::string error_of(std::string_view text, const serve::ModelMetadata& model = kOne) {
  Result<DecodedRequest> decoded = decoded_from(text, model);
  return decoded ? "" : decoded.error().message;
}

template <typename T>
std::vector<T> values_of(const serve::RequestInput& input) {
  std::vector<T> values(input.data.size() / sizeof(T));
  std::memcpy(values.data(), input.data.data(), input.data.size());
  return values;
}

TEST(PredictRequest, ReadsRowsOfTheOnlyInput) {
  for (const char* text : {R"({"instances":[[1,2],[3,4.5]]})", R"({"instances":[{"x":[1,2]},{"x":[3,4.5]}]})",
                           R"({"signature_name":"serving_default","instances":[[1,2],[3,4.5]],"other":1})",
                           R"({"signature_name":"","instances":[[1,2],[3,4.5]]})"}) {
    Result<DecodedRequest> decoded = decoded_from(text);
    ASSERT_TRUE(decoded) << text << ": " << decoded.error().message;
    EXPECT_EQ(decoded->format.predict, PredictForm::kRows);
    ASSERT_EQ(decoded->request.inputs.size(), 1u);
    EXPECT_EQ(decoded->request.inputs[0].name, "x");
    EXPECT_EQ(decoded->request.inputs[0].shape, (Shape{2, 2}));
    EXPECT_EQ(values_of<float>(decoded->request.inputs[0]), (std::vector<float>{1, 2, 3, 4.5F}));
  }
}

TEST(PredictRequest, ReadsColumnsOfAnyShape) {
  const std::pair<const char*, Shape> cases[] = {{R"({"inputs":[[1,2],[3,4]]})", {2, 2}},
                                                 {R"({"inputs":{"x":[[1,2],[3,4]]}})", {2, 2}},
                                                 {R"({"inputs":7})", {}},
                                                 {R"({"inputs":[[[1],[2]]]})", {1, 2, 1}},
                                                 {R"({"inputs":[[],[]]})", {2, 0}},
                                                 {R"({"inputs":[]})", {0}}};
  for (const auto& [text, shape] : cases) {
    Result<DecodedRequest> decoded = decoded_from(text);
    ASSERT_TRUE(decoded) << text << ": " << decoded.error().message;
    EXPECT_EQ(decoded->format.predict, PredictForm::kColumns);
    EXPECT_EQ(decoded->request.inputs[0].shape, shape) << text;
  }
}

TEST(PredictRequest, ReadsSeveralInputsInBothForms) {
  for (const char* text : {R"({"instances":[{"tag":"foo","signal":[1,2,3]},{"signal":[4,5,6],"tag":{"b64":"/w=="}}]})",
                           R"({"inputs":{"signal":[[1,2,3],[4,5,6]],"tag":["foo",{"b64":"/w=="}]}})"}) {
    Result<DecodedRequest> decoded = decoded_from(text, kTwo);
    ASSERT_TRUE(decoded) << text << ": " << decoded.error().message;
    ASSERT_EQ(decoded->request.inputs.size(), 2u);
    EXPECT_EQ(decoded->request.inputs[0].shape, (Shape{2}));
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(decoded->request.inputs[0].data.data()), 12),
              std::string("\3\0\0\0foo\1\0\0\0\xff", 12));
    EXPECT_EQ(decoded->request.inputs[1].shape, (Shape{2, 3}));
    EXPECT_EQ(values_of<int32_t>(decoded->request.inputs[1]), (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
  }
}

TEST(PredictRequest, RefusesListsThatAreNoTensor) {
  for (const char* text : {R"({"inputs":[[1,2],[3]]})", R"({"inputs":[[1,2],3]})", R"({"inputs":[1,[2]]})",
                           R"({"instances":[[1,2],[3]]})", R"({"instances":[[1,2],3]})", R"({"inputs":[[1],[2,3]]})"})
    EXPECT_NE(error_of(text).find("input 'x'"), std::string::npos) << text << ": " << error_of(text);
  EXPECT_NE(error_of(R"({"inputs":["a"]})").find("element 0"), std::string::npos);
  EXPECT_NE(error_of(R"({"inputs":[{"b64":"AA=="}]})"), "");  // not of BYTES
}

TEST(PredictRequest, RefusesWhatIsAmbiguousOrMissing) {
  for (const char* text :
       {"{}", "[]", "", R"({"instances":[1],"inputs":[1]})", R"({"instances":[]})", R"({"instances":1})",
        R"({"instances":{"x":1}})", R"({"signature_name":"train","inputs":[1]})",
        R"({"signature_name":1,"inputs":[1]})", R"({"inputs":{"y":[1]}})", R"({"inputs":{"x":[1],"x":[1]}})",
        R"({"instances":[{"x":1,"x":1}]})", R"({"inputs":[1],"inputs":[1]})", R"({"instances":[NaN]})",
        R"({"inputs":null})"})
    EXPECT_NE(error_of(text), "") << text;
  for (const char* text :
       {R"({"inputs":[1]})", R"({"instances":[1]})", R"({"instances":[{"tag":"a"},{"signal":[1,2,3]}]})",
        R"({"instances":[{"tag":"a","signal":[1,2,3]},{"tag":"b"}]})",
        R"({"instances":[{"tag":"a"},{"tag":"b","signal":[1,2,3]}]})", R"({"instances":[{"tag":"a"},7]})",
        R"({"inputs":{"tag":{"b64":"?"}}})"})
    EXPECT_NE(error_of(text, kTwo), "") << text;
  EXPECT_NE(error_of(R"({"inputs":{"y":[1]}})", kTwo).find("'tag', 'signal'"), std::string::npos);
}

// simdjson's own count of a list ends at 0xFFFFFF.
TEST(PredictRequest, CountsLongLists) {
  constexpr size_t kCount = 0xFFFFFF + 7;
  std::string text = R"({"inputs":[0)";
  for (size_t i = 1; i < kCount; ++i) text += ",0";
  Result<DecodedRequest> decoded = decoded_from(text + "]}", model_of({{"x", DataType::kUint8, {-1}}}));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->request.inputs[0].shape, Shape{kCount});
}

}  // namespace
}  // namespace ridge::front::http
