#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ridge::checkpoint {
namespace {

std::string file_of(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + data;
}

Result<Tensors> read(const std::string& bytes) { return read_safetensors(std::as_bytes(std::span(bytes))); }

TEST(Safetensors, GivesTypeShapeAndBytesOfEachTensor) {
  const std::string bytes =
      file_of(R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[3],"data_offsets":[8,14]},)"
              R"("a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"none":{"dtype":"F16","shape":[0,4],)"
              R"("data_offsets":[14,14]}})",
              "01234567abcdef");
  const Result<Tensors> tensors = read(bytes);
  ASSERT_TRUE(tensors.ok()) << tensors.error().message;
  ASSERT_EQ(tensors->size(), 3u);
  EXPECT_EQ(tensors->at("a").type, DataType::kFp32);
  EXPECT_EQ(tensors->at("a").shape, (Shape{1, 2}));
  EXPECT_EQ(std::memcmp(tensors->at("b").data.data(), "abcdef", 6), 0);
  EXPECT_EQ(tensors->at("none").data.size(), 0u);
}

TEST(Safetensors, RefusesPartsThatDoNotFitEachOther) {
  const std::string wrong[] = {
      "",
      "1234567",
      file_of("{}", "rest"),
      file_of("[]", ""),
      file_of("{", ""),
      file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "123"),   // cut short
      file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234"),  // too few bytes
      file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "1234"),  // backwards
      file_of(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234"),
      file_of(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", ""),  // overflows
      file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],)"
              R"("data_offsets":[2,6]}})",
              "123456"),  // overlap
      file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],)"
              R"("data_offsets":[6,10]}})",
              "0123456789"),
      file_of(R"({"a":{"dtype":"F32","shape":[1]}})", "1234"),
      file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})", "1234")};
  for (const std::string& bytes : wrong) {
    const Result<Tensors> tensors = read(bytes);
    ASSERT_FALSE(tensors.ok()) << bytes;
    EXPECT_EQ(tensors.error().code, Code::kInvalid) << bytes;
  }
  std::string huge(16, '\xff');
  EXPECT_FALSE(read(huge).ok());
  EXPECT_EQ(read(file_of(R"({"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", "1")).error().code,
            Code::kUnsupported);
}

}  // namespace
}  // namespace ridge::checkpoint
