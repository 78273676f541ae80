#include "front/http/generate_request.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ridge::front::http {
namespace {

serve::ModelMetadata model_of(std::vector<TensorSpec> inputs, int64_t max_batch_size) {
  serve::ModelMetadata model;
  model.inputs = std::move(inputs);
  model.max_batch_size = max_batch_size;
  return model;
}

const serve::ModelMetadata kTextModel =
    model_of({{"text_input", DataType::kBytes, {-1, 1}}, {"stream", DataType::kBool, {-1, 1}}}, 8);

serve::ModelMetadata one_input(Shape shape, int64_t max_batch_size) {
  return model_of({{"x", DataType::kFp32, std::move(shape)}}, max_batch_size);
}

Result<DecodedRequest> decoded_from(std::string_view text, const serve::ModelMetadata& model = kTextModel) {
  static GenerateDecoder decoder;
  Body body;
  body.start(text.size());
  body.append(std::as_bytes(std::span(text)));
  return decoder.decode(body, model);
}

std::string error_of(std::string_view text, const serve::ModelMetadata& model = kTextModel) {
  Result<DecodedRequest> decoded = decoded_from(text, model);
  return decoded ? "" : decoded.error().message;
}

std::string bytes_of(const serve::RequestInput& input) {
  return {reinterpret_cast<const char*>(input.data.data()), input.data.size()};
}

TEST(GenerateRequest, MembersAreInputsByTheirNames) {
  for (const char* text :
       {R"({"text_input":"foo","stream":true})", R"({"text_input":["foo"],"stream":[true],"temperature":0.5})",
        R"({"text_input":{"b64":"Zm9v"},"stream":[[true]],"id":""})",
        R"({"text_input":"foo","parameters":{"stream":true,"temperature":null}})"}) {
    Result<DecodedRequest> decoded = decoded_from(text);
    ASSERT_TRUE(decoded) << text << ": " << decoded.error().message;
    ASSERT_EQ(decoded->request.inputs.size(), 2u) << text;
    EXPECT_EQ(decoded->request.inputs[0].name, "text_input");
    EXPECT_EQ(decoded->request.inputs[0].type, DataType::kBytes);
    EXPECT_EQ(decoded->request.inputs[0].shape, (Shape{1, 1})) << text;
    EXPECT_EQ(bytes_of(decoded->request.inputs[0]), std::string("\3\0\0\0foo", 7)) << text;
    EXPECT_EQ(decoded->request.inputs[1].name, "stream");
    EXPECT_EQ(decoded->request.inputs[1].shape, (Shape{1, 1})) << text;
    EXPECT_EQ(bytes_of(decoded->request.inputs[1]), "\1") << text;
    EXPECT_EQ(decoded->request.id, "");
  }
}

TEST(GenerateRequest, ShapesComeFromTheModelAndTheNesting) {
  struct Case {
    Shape of_model;
    int64_t max_batch_size;
    const char* value;
    Shape expected;
  };
  for (const Case& each : {
           Case{{-1, 4}, 8, "[1,2,3,4]", {1, 4}},
           Case{{-1, 4}, 8, "[1,2,3,4,5,6,7,8]", {2, 4}},
           Case{{-1, 4}, 8, "[[1,2,3,4],[5,6,7,8]]", {2, 4}},
           Case{{-1, -1}, 8, "[1,2,3]", {1, 3}},
           Case{{-1, -1, -1}, 8, "[1,2,3]", {1, 1, 3}},
           Case{{-1, -1, -1}, 8, "[[1,2,3],[4,5,6]]", {1, 2, 3}},
           Case{{-1, -1, -1}, 8, "[[[1,2,3],[4,5,6]]]", {1, 2, 3}},
           Case{{-1, -1, 2}, 0, "[1,2,3,4]", {1, 2, 2}},
           Case{{-1, -1, 2}, 0, "[[1,2],[3,4]]", {2, 2}},  // no batch to add: the service refuses it
           Case{{2, 3}, 0, "[1,2,3,4,5,6]", {2, 3}},
           Case{{2, 3}, 0, "[[1,2,3],[4,5,6]]", {2, 3}},
           Case{{-1}, 0, "[1,2]", {2}},
           Case{{-1}, 0, "[]", {0}},
           Case{{0}, 0, "[]", {0}},
           Case{{}, 0, "7", {}},
       }) {
    const std::string text = R"({"x":)" + std::string(each.value) + "}";
    Result<DecodedRequest> decoded = decoded_from(text, one_input(each.of_model, each.max_batch_size));
    ASSERT_TRUE(decoded) << text << ": " << decoded.error().message;
    EXPECT_EQ(decoded->request.inputs[0].shape, each.expected) << text << " for " << shape_text(each.of_model);
  }
}

TEST(GenerateRequest, RefusesValuesThatDoNotFitTheModel) {
  EXPECT_NE(error_of(R"({"x":[1,2,3]})", one_input({-1, 4}, 8)).find("'x'"), std::string::npos);
  EXPECT_NE(error_of(R"({"x":[1,2,3]})", one_input({-1, 4}, 8)).find("[-1,4]"), std::string::npos);
  EXPECT_NE(error_of(R"({"x":7})", one_input({2}, 0)), "");
  EXPECT_NE(error_of(R"({"x":[]})", one_input({2}, 0)), "");
  EXPECT_NE(error_of(R"({"x":[7]})", one_input({0, -1}, 0)), "");
  EXPECT_NE(error_of(R"({"x":[1,2]})", one_input({int64_t{1} << 62, 8}, 0)), "");
  EXPECT_NE(error_of(R"({"x":[[1,2],[3]]})", one_input({-1, -1}, 8)).find("'x'"), std::string::npos);
  for (const char* value : {R"("a")", "null", "{}", R"({"b64":"AA=="})", "true", "[1,[2]]"})
    EXPECT_NE(error_of(R"({"x":)" + std::string(value) + "}", one_input({-1}, 0)), "") << value;
}

TEST(GenerateRequest, TakesTheParametersThatCount) {
  for (
      const char* text :
      {R"({"id":"7","priority":3,"timeout":50,"sequence_id":9,"sequence_start":true,"sequence_end":true})",
       R"({"id":"7","parameters":{"priority":3,"timeout":50,"sequence_id":9,"sequence_start":true,"sequence_end":true}})",
       R"({"id":"7","priority":3,"sequence_id":9,"sequence_end":true,"binary_data_output":true,
            "parameters":{"timeout":50,"sequence_start":true,"id":"8","top_k":40}})"}) {
    Result<DecodedRequest> decoded = decoded_from(text);
    ASSERT_TRUE(decoded) << text << ": " << decoded.error().message;
    EXPECT_EQ(decoded->request.id, "7");
    EXPECT_EQ(decoded->request.priority, 3u);
    EXPECT_EQ(decoded->request.timeout, Nanoseconds(50'000));
    EXPECT_EQ(decoded->request.sequence.id, serve::SequenceId(uint64_t{9}));
    EXPECT_TRUE(decoded->request.sequence.start && decoded->request.sequence.end);
    EXPECT_FALSE(decoded->format.binary);
    EXPECT_TRUE(decoded->request.inputs.empty());
  }
}

TEST(GenerateRequest, NamesOfInputsComeBeforeThoseOfMembersAndParameters) {
  const serve::ModelMetadata model = model_of(
      {{"id", DataType::kInt32, {2}}, {"timeout", DataType::kFp32, {1}}, {"parameters", DataType::kInt8, {1}}}, 0);
  Result<DecodedRequest> decoded = decoded_from(R"({"id":[1,2],"timeout":0.5,"parameters":-1})", model);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->request.inputs.size(), 3u);
  EXPECT_EQ(decoded->request.id, "");
  EXPECT_FALSE(decoded->request.timeout);
}

TEST(GenerateRequest, RefusesWhatIsAmbiguousOrMalformed) {
  for (const char* text :
       {"", "[]", "{", R"({"id":7})", R"({"parameters":[1]})", R"({"parameters":7})", R"({"other":[1]})",
        R"({"other":{}})", R"({"parameters":{"other":[1]}})", R"({"parameters":{"parameters":{}}})",
        R"({"timeout":-1})", R"({"priority":"high"})", R"({"sequence_id":true})", R"({"stream":true,"stream":true})",
        R"({"stream":true,"parameters":{"stream":true}})", R"({"timeout":1,"parameters":{"timeout":1}})",
        R"({"id":"a","id":"b"})", R"({"parameters":{},"parameters":{}})"})
    EXPECT_NE(error_of(text), "") << text;
}

}  // namespace
}  // namespace ridge::front::http
