#include "front/http/infer_request.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace ridge::front::http {
namespace {

std::shared_ptr<Body> body_of(std::string_view text) {
  auto body = std::make_shared<Body>();
  body->start(0);
  body->append(std::as_bytes(std::span(text)));
  return body;
}

Result<DecodedRequest> decode(std::string_view text, std::optional<size_t> header = std::nullopt) {
  static InferDecoder decoder;
  return decoder.decode(body_of(text), header);
}

std::string input(std::string_view type, std::string_view shape, std::string_view data) {
  return R"({"inputs":[{"name":"x","datatype":")" + std::string(type) + R"(","shape":)" + std::string(shape) +
         R"(,"data":)" + std::string(data) + "}]}";
}

template <typename T>
std::vector<T> values_of(const DecodedRequest& decoded) {
  std::span<const std::byte> data = decoded.request.inputs.at(0).data;
  std::vector<T> values(data.size() / sizeof(T));
  if (!data.empty()) std::memcpy(values.data(), data.data(), data.size());
  return values;
}

template <typename T>
void expect_values(std::string_view type, std::string_view shape, std::string_view data,
                   const std::vector<T>& expected) {
  auto decoded = decode(input(type, shape, data));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(values_of<T>(*decoded), expected) << type << " " << data;
}

TEST(InferRequest, ReadsEveryType) {
  expect_values<uint8_t>("BOOL", "[2]", "[true,false]", {1, 0});
  expect_values<int8_t>("INT8", "[2]", "[-128,127]", {-128, 127});
  expect_values<uint8_t>("UINT8", "[2]", "[0,255]", {0, 255});
  expect_values<int16_t>("INT16", "[2]", "[-32768,32767]", {-32768, 32767});
  expect_values<uint16_t>("UINT16", "[1]", "[65535]", {65535});
  expect_values<int32_t>("INT32", "[2]", "[-2147483648,2147483647]", {INT32_MIN, INT32_MAX});
  expect_values<uint32_t>("UINT32", "[1]", "[4294967295]", {UINT32_MAX});
  expect_values<int64_t>("INT64", "[2]", "[-9223372036854775808,9223372036854775807]", {INT64_MIN, INT64_MAX});
  expect_values<uint64_t>("UINT64", "[2]", "[18446744073709551615,9007199254740993]", {UINT64_MAX, 9007199254740993u});
  expect_values<float>("FP32", "[4]", "[1,-2.5,3.4028235e38,1e-45]", {1, -2.5f, 3.4028235e38f, 1e-45f});
  expect_values<double>("FP64", "[3]", "[0.1,1.7976931348623157e308,5e-324]", {0.1, 1.7976931348623157e308, 5e-324});
}

TEST(InferRequest, ReadsIntegersBeyond64BitsIntoFloatingPoint) {
  expect_values<double>("FP64", "[2]", "[100000000000000000000,-123456789012345678901234]",
                        {1e20, -123456789012345678901234.0});
  expect_values<float>("FP32", "[2]", "[ 18446744073709551616,18446744073709551615]",
                       {18446744073709551616.f, 18446744073709551616.f});
  auto strings = decode(R"({"id":"12345678901234567890123","inputs":[{"name":"x","datatype":"FP64","shape":[1],)"
                        R"("data":[100000000000000000000]}]})");
  ASSERT_TRUE(strings);
  EXPECT_EQ(strings->request.id, "12345678901234567890123");
}

TEST(InferRequest, KeepsTheSignOfZero) {
  auto decoded = decode(input("FP32", "[1]", "[-0.0]"));
  EXPECT_TRUE(std::signbit(values_of<float>(*decoded).at(0)));
}

TEST(InferRequest, ReadsNestedDataInRowMajorOrder) {
  expect_values<int32_t>("INT32", "[2,2,1]", "[[[1],[2]],[[3],[4]]]", {1, 2, 3, 4});
  expect_values<int32_t>("INT32", "[2,0]", "[[],[]]", {});
  expect_values<int32_t>("INT32", "[0]", "[]", {});
  expect_values<int32_t>("INT32", "[]", "[7]", {7});
}

TEST(InferRequest, ReadsStringsOfAnyUnicode) {
  auto decoded = decode(input("BYTES", "[3]", R"(["a\u0000b","","\ud83d\ude00"])"));
  ASSERT_TRUE(decoded) << decoded.error().message;
  std::span<const std::byte> data = decoded->request.inputs[0].data;
  std::string block(reinterpret_cast<const char*>(data.data()), data.size());
  EXPECT_EQ(block, std::string("\x03\0\0\0a\0b\0\0\0\0\x04\0\0\0\xF0\x9F\x98\x80", 19));
}

TEST(InferRequest, ReadsNamesParametersAndOutputs) {
  auto decoded = decode(
      R"({"id":"42","model_name":"ignored","parameters":{"binary_data_output":true,"timeout":1500,
       "sequence_id":18446744073709551615,"sequence_start":true,"sequence_end":false,"other":"x"},
      "inputs":[],"outputs":[{"name":"a"},{"name":"b","parameters":{"binary_data":false}},
                             {"name":"c","parameters":{"classification":3}}]})");
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->request.id, "42");
  EXPECT_EQ(decoded->request.timeout, std::chrono::microseconds(1500));
  EXPECT_EQ(decoded->request.sequence.id, serve::SequenceId(UINT64_MAX));
  EXPECT_TRUE(decoded->request.sequence.start);
  EXPECT_FALSE(decoded->request.sequence.end);
  ASSERT_EQ(decoded->request.outputs.size(), 3u);
  EXPECT_EQ(decoded->request.outputs[2].classification, 3);
  EXPECT_TRUE(decoded->format.binary);
  EXPECT_EQ(decoded->format.binary_outputs, (std::vector<bool>{true, false, true}));
}

TEST(InferRequest, ReadsWhichTensorsLieInSharedMemory) {
  std::string json = R"({"parameters":{"binary_data_output":true},"inputs":[
      {"name":"a","shape":[2],"datatype":"FP32",
       "parameters":{"shared_memory_region":"in","shared_memory_byte_size":8,"shared_memory_offset":64}},
      {"name":"b","shape":[2],"datatype":"UINT8","parameters":{"binary_data_size":2}}],
      "outputs":[{"name":"y","parameters":
                   {"shared_memory_region":"out","shared_memory_byte_size":100,"binary_data":false}},
                 {"name":"z"}]})";
  InferDecoder decoder;
  auto decoded = decoder.decode(body_of(json + "12"), json.size());
  ASSERT_TRUE(decoded) << decoded.error().message;
  const serve::InferRequest& request = decoded->request;
  ASSERT_TRUE(request.inputs[0].part);
  EXPECT_EQ(request.inputs[0].part->region, "in");
  EXPECT_EQ(request.inputs[0].part->offset, 64u);
  EXPECT_EQ(request.inputs[0].part->byte_size, 8u);
  EXPECT_TRUE(request.inputs[0].data.empty());
  EXPECT_FALSE(request.inputs[1].part);
  ASSERT_TRUE(request.outputs[0].part);
  EXPECT_EQ(request.outputs[0].part->offset, 0u);
  EXPECT_EQ(request.outputs[0].part->byte_size, 100u);
  EXPECT_FALSE(request.outputs[1].part);
}

TEST(InferRequest, PointsAtBinaryTensorsInTheBodyWithoutCopying) {
  std::string json = R"({"inputs":[{"name":"a","shape":[2],"datatype":"UINT8","parameters":{"binary_data_size":2}},
      {"name":"j","shape":[1],"datatype":"UINT8","data":[9]},
      {"name":"e","shape":[0],"datatype":"UINT8","parameters":{"binary_data_size":0}},
      {"name":"b","shape":[3],"datatype":"UINT8","parameters":{"binary_data_size":3}}]})";
  auto body = body_of(json + "12345");
  const std::byte* tensors = body->data() + json.size();
  InferDecoder decoder;
  auto decoded = decoder.decode(body, json.size());
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->request.inputs[0].data.data(), tensors);
  EXPECT_EQ(decoded->request.inputs[3].data.data(), tensors + 2);
  EXPECT_EQ(decoded->request.inputs[3].data.size(), 3u);
  EXPECT_EQ(decoded->request.inputs[1].data[0], std::byte{9});
  std::weak_ptr<Body> watched = body;
  body.reset();
  EXPECT_FALSE(watched.expired());
  decoded->request.body.reset();
  EXPECT_TRUE(watched.expired());
}

struct Refusal {
  std::string text;
  std::string says;  // part of the message
};

TEST(InferRequest, RefusesWhatIsWrongAndNamesTheTensor) {
  const std::vector<Refusal> kCases = {
      {"", "not valid JSON"},
      {"{", "not valid JSON"},
      {"{}x", "not valid JSON"},
      {"[]", "should be a JSON object, found a list"},
      {"{}", "'inputs' is missing"},
      {R"({"inputs":{}})", "'inputs' should be a list, found an object"},
      {R"({"inputs":[1]})", "each member of 'inputs'"},
      {R"({"inputs":[],"inputs":[]})", "'inputs' is given twice"},
      {R"({"id":7,"inputs":[]})", "'id' should be a string"},
      {R"({"inputs":[],"parameters":{"a":[1]}})", "parameter 'a' should be a string, number or boolean"},
      {R"({"inputs":[],"parameters":{"timeout":-1}})", "'timeout'"},
      {R"({"inputs":[],"parameters":{"sequence_id":-1}})", "'sequence_id'"},
      {R"({"inputs":[],"parameters":{"sequence_end":1}})", "'sequence_end'"},
      {R"({"inputs":[],"parameters":{"binary_data_output":1}})", "'binary_data_output'"},
      {R"({"inputs":[],"outputs":[{"name":"o","parameters":{"classification":-1}}]})", "output 'o': 'classification'"},
      {R"({"inputs":[],"outputs":[{"name":"o","parameters":{"classification":1.5}}]})", "output 'o': 'classification'"},
      {R"({"inputs":[],"outputs":[{}]})", "output number 1: 'name' is missing"},
      {R"({"inputs":[{"shape":[1],"datatype":"FP32","data":[1]}]})", "input number 1: 'name' is missing"},
      {R"({"inputs":[{"name":"x","datatype":"FP32","data":[1]}]})", "input 'x': 'shape' is missing"},
      {R"({"inputs":[{"name":"x","shape":[1],"data":[1]}]})", "input 'x': 'datatype' is missing"},
      {R"({"inputs":[{"name":"x","shape":[1],"datatype":"FP32"}]})", "has none of 'data', 'binary_data_size'"},
      {R"({"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[1],"parameters":{"binary_data_size":4}}]})",
       "give one"},
      {R"({"inputs":[{"name":"x","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4}}]})",
       "only 0 bytes"},
      {R"({"inputs":[{"name":"x","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":-4}}]})",
       "'binary_data_size'"},
      {R"({"inputs":[{"name":"x","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":"4"}}]})",
       "'binary_data_size'"},
      {R"({"inputs":[{"name":"x","shape":[1],"datatype":"FP32","parameters":{"shared_memory_region":"r"}}]})",
       "shared_memory_byte_size"},
      {R"({"inputs":[{"name":"x","shape":[1],"datatype":"FP32","parameters":{"shared_memory_byte_size":4},)"
       R"("data":[1]}]})",
       "shared_memory_region"},
      {R"({"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[1],
          "parameters":{"shared_memory_region":"r","shared_memory_byte_size":4}}]})",
       "give one"},
      {R"({"inputs":[{"name":"x","shape":[1],"datatype":"FP32",
          "parameters":{"shared_memory_region":"r","shared_memory_byte_size":-4}}]})",
       "unsigned integer"},
      {R"({"inputs":[{"name":"x","shape":[1],"datatype":"FP32",
          "parameters":{"shared_memory_region":7,"shared_memory_byte_size":4}}]})",
       "should be a string"},
      {R"({"inputs":[{"name":"x","shape":[1],"datatype":"FP32",
          "parameters":{"shared_memory_region":"r","shared_memory_byte_size":4,"shared_memory_offset":1.5}}]})",
       "unsigned integer"},
      {R"({"inputs":[],"outputs":[{"name":"y",
          "parameters":{"shared_memory_region":"r","shared_memory_byte_size":4,"binary_data":true}}]})",
       "binary_data"},
      {input("fp32", "[1]", "[1]"), "unknown datatype 'fp32'"},
      {input("FP32", "[-1]", "[1]"), "'shape'"},
      {input("FP32", "[1.0]", "[1]"), "'shape'"},
      {input("FP32", "1", "[1]"), "'shape' should be a list"},
      {input("FP32", "[9223372036854775808]", "[1]"), "'shape'"},
      {input("FP32", "[2]", "[1]"), "shape [2] needs 2 values, data has 1"},
      {input("FP32", "[1]", "[1,2]"), "shape [1] needs 1 values, data has more"},
      {input("FP32", "[2147483648]", "[1,2]"), "needs 2147483648 values"},
      {input("FP32", "[4294967296,4294967296]", "[1]"), "too many elements"},
      {input("INT8", "[1]", "[300]"), "element 0 should be an integer from -128 to 127, found 300"},
      {input("UINT8", "[2]", "[1,-1]"), "element 1"},
      {input("INT32", "[1]", "[1.5]"), "found 1.5"},
      {input("INT64", "[1]", "[9223372036854775808]"), "element 0"},
      {input("UINT64", "[1]", "[18446744073709551616]"), "element 0"},
      {input("FP32", "[1]", "[\"1\"]"), "element 0"},
      {input("FP32", "[1]", "[null]"), "found null"},
      {input("FP32", "[1]", "[true]"), "found true"},
      {input("FP32", "[1]", "[1e300]"), "FP32"},
      {input("FP64", "[1]", "[1e400]"), "not valid JSON"},
      {input("FP32", "[1]", "[NaN]"), "not valid JSON"},
      {input("BOOL", "[1]", "[1]"), "true or false"},
      {input("BYTES", "[1]", "[1]"), "a string"},
      {input("BYTES", "[1]", "[\"\\ud800\"]"), "not valid JSON"},
      {input("BYTES", "[1]", "[\"\xff\"]"), "not valid JSON"},
      {input("FP16", "[1]", "[1]"), "FP16 has no JSON form"},
      {input("BF16", "[1]", "[1]"), "BF16 has no JSON form"},
      {input("FP32", "[1]", "1"), "'data' should be a list"},
  };
  for (const Refusal& refusal : kCases) {
    auto decoded = decode(refusal.text);
    ASSERT_FALSE(decoded) << refusal.text;
    EXPECT_EQ(decoded.error().code, Code::kInvalid) << refusal.text;
    EXPECT_NE(decoded.error().message.find(refusal.says), std::string::npos)
        << refusal.text << "\n  says: " << decoded.error().message << "\n  not:  " << refusal.says;
    bool has_name = refusal.text.find("\"name\":\"x\"") != std::string::npos;
    if (!has_name || refusal.says == "not valid JSON") continue;
    EXPECT_NE(decoded.error().message.find("input 'x'"), std::string::npos) << decoded.error().message;
  }
}

TEST(InferRequest, RefusesDeepNestingWithoutRecursion) {
  std::string deep(1'000'000, '[');
  EXPECT_FALSE(decode(deep));
  EXPECT_FALSE(decode(input("FP32", "[1]", std::string(105, '[') + "1" + std::string(105, ']'))));
  EXPECT_TRUE(decode(input("FP32", "[1]", std::string(90, '[') + "1" + std::string(90, ']'))));
}

TEST(InferRequest, RefusesAHeaderLengthThatIsNotTheJsonsEnd) {
  std::string json = R"({"inputs":[{"name":"x","shape":[4],"datatype":"UINT8","parameters":{"binary_data_size":4}}]})";
  EXPECT_TRUE(decode(json + "1234", json.size()));
  EXPECT_FALSE(decode(json + "1234", json.size() - 1));
  EXPECT_FALSE(decode(json + "1234", json.size() + 1));
  EXPECT_FALSE(decode(json + "12345", json.size()));
  EXPECT_FALSE(decode(json + "123", json.size()));
}

TEST(InferRequest, ParsesTheHeaderLengthStrictly) {
  EXPECT_EQ(*parse_header_length("12", 12), 12u);
  for (const char* bad : {"", "-1", "abc", "1x", "0x1", "13", "99999999999999999999999", "1 2"})
    EXPECT_FALSE(parse_header_length(bad, 12)) << bad;
}

TEST(RawRequest, FillsTheOneVariableDimension) {
  serve::ModelMetadata model{"m", {1}, "", {{"x", DataType::kFp32, {-1, 2, -1}}}, {}, 8};
  auto decoded = decode_raw(body_of(std::string(24, 'a')), model);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->request.inputs[0].shape, (Shape{1, 2, 3}));
  EXPECT_TRUE(decoded->format.binary);
  EXPECT_FALSE(decode_raw(body_of(std::string(25, 'a')), model));
  model.max_batch_size = 0;
  EXPECT_FALSE(decode_raw(body_of(std::string(24, 'a')), model)) << "two variable dimensions";
  model.max_batch_size = 8;
  model.inputs.push_back(model.inputs[0]);
  EXPECT_FALSE(decode_raw(body_of(std::string(24, 'a')), model)) << "two inputs";
}

TEST(RawRequest, TakesTheBodyAsTheOneElementOfABytesTensor) {
  serve::ModelMetadata model{"m", {1}, "", {{"x", DataType::kBytes, {-1, 1}}}, {}, 8};
  auto decoded = decode_raw(body_of("jpeg"), model);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->request.inputs[0].shape, (Shape{1, 1}));
  EXPECT_EQ(std::memcmp(decoded->request.inputs[0].data.data(), "\4\0\0\0jpeg", 8), 0);
  model.inputs[0].shape = {-1, 2};
  EXPECT_FALSE(decode_raw(body_of("jpeg"), model));
}

}  // namespace
}  // namespace ridge::front::http
