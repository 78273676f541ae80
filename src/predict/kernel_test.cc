#include "predict/kernel.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/fields.h"

namespace ridge::predict {
namespace {

Kernel convolution() {
  Kernel kernel;
  kernel.op = "Conv";
  kernel.domain = "com.microsoft.nchwc";
  kernel.attributes = {
      {"strides", std::vector<int64_t>{2, 2}}, {"group", int64_t{1}}, {"activation", std::string("Relu")}};
  kernel.inputs = {{true, DataType::kFp32, Shape{1, 64, 56, 56}, false, {}},
                   {true, DataType::kFp32, Shape{128, 64, 3, 3}, true, {}},
                   {false, DataType::kInvalid, {}, false, {}}};
  kernel.outputs = {{true, DataType::kFp32, Shape{1, 128, 28, 28}, false, {}}};
  return kernel;
}

TEST(KernelJson, ReadsBackWhatItWrote) {
  const Json json = to_json(convolution());
  Result<Kernel> back = from_json<Kernel>(json);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(dump_json(to_json(*back)), dump_json(json));
  EXPECT_EQ(json["inputs"][1], "FP32[128,64,3,3] weight");
  EXPECT_TRUE(back->inputs[1].weight);
  EXPECT_FALSE(back->inputs[2].present);
  EXPECT_EQ(*back->outputs[0].shape, (Shape{1, 128, 28, 28}));
}

TEST(KernelJson, RefusesOperandsThatAreNone) {
  for (const char* operand : {"FP32", "FP32[1,", "FP32[1,2", "FP32[a]", "FP32[1,]"}) {
    Json json = to_json(convolution());
    json["inputs"][0] = operand;
    EXPECT_FALSE(from_json<Kernel>(json).ok()) << operand;
  }
  EXPECT_FALSE(from_json<Kernel>(Json::array()).ok());
  EXPECT_FALSE(from_json<Kernel>(Json{{"op", "Conv"}}).ok());
}

TEST(Kernel, BytesOfAnOperandAreElementsTimesSizeAndZeroWhereUnknown) {
  EXPECT_EQ(operand_bytes(convolution().inputs[0]), 64 * 56 * 56 * 4);
  EXPECT_EQ(operand_bytes(convolution().inputs[2]), 0);
  EXPECT_EQ(operand_bytes({true, DataType::kFp32, Shape{-1, 4}, false, {}}), 0);
}

}  // namespace
}  // namespace ridge::predict
