#include "precision/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "precision/test_pass.h"

namespace ridge::precision {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Proto = onnx::TensorProto;

const char* const kTwoProducts = R"((float[N, 2] x) => (float[N, 2] y)
  <float[2, 2] w = {1, 2, 3, 4}, float[2, 2] v = {1, 0, 0, 1}>
  { a = MatMul (x, w)
    r = Relu (a)
    y = MatMul (r, v) })";

TEST(Convert, CastsOnlyAtTheBorders) {
  PassFiles files(kTwoProducts);
  Result<PassReport> report = convert(whole(files.in()), Precision::kFp16, {}, files.out());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->changed_nodes, 3);
  EXPECT_EQ(files.count("Cast"), 2);
  EXPECT_EQ(files.producer("a").input(0), "x_fp16");
  EXPECT_EQ(files.constant("w_fp16").data_type(), Proto::FLOAT16);
  EXPECT_EQ(files.producer("y").op_type(), "Cast");
  EXPECT_EQ(files.result().output(0).type().tensor_type().elem_type(), Proto::FLOAT);
}

TEST(Convert, InputsAndOutputsMayChangeToo) {
  PassFiles files(kTwoProducts);
  ConvertOptions options;
  options.keep_io_types = false;
  ASSERT_TRUE(convert(whole(files.in()), Precision::kBf16, options, files.out()).ok());
  EXPECT_EQ(files.count("Cast"), 0);
  EXPECT_EQ(files.result().input(0).type().tensor_type().elem_type(), Proto::BFLOAT16);
  EXPECT_EQ(files.result().output(0).type().tensor_type().elem_type(), Proto::BFLOAT16);
}

TEST(Convert, KeptNodesGetAndGiveFp32) {
  PassFiles files(kTwoProducts);
  ConvertOptions options;
  options.keep_nodes = {"Relu_1"};
  Result<PassReport> report = convert(whole(files.in()), Precision::kFp16, options, files.out());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->kept_nodes, 1);
  EXPECT_EQ(files.count("Cast"), 4);
  EXPECT_EQ(files.producer("a").op_type(), "Cast");  // the FP32 form has the name
  EXPECT_EQ(files.producer("a_fp16").op_type(), "MatMul");
  EXPECT_EQ(files.producer("r").input(0), "a");
}

TEST(Convert, WeightsThatDoNotFitKeepTheirNode) {
  PassFiles files(R"((float[N, 2] x) => (float[N, 2] y) <float[2] w = {1, 100000}, float[2] e = {1e-9, 1e-9}>
    { a = Mul (x, w)
      b = Add (a, e)
      y = Relu (b) })");
  Result<PassReport> report = convert(whole(files.in()), Precision::kFp16, {}, files.out());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_THAT(report->notes, ElementsAre(HasSubstr("Mul_0 stays in FP32: 'w' has values up to 100000"),
                                         HasSubstr("Add_1 stays in FP32: 2 of the 2 values of 'e' would become 0")));
  PassFiles wide("(float[N, 2] x) => (float[N, 2] y) <float[2] w = {1, 100000}> { y = Mul (x, w) }");
  EXPECT_TRUE(convert(whole(wide.in()), Precision::kBf16, {}, wide.out()).ok());
}

TEST(Convert, MasksStayFiniteSoThatZeroTimesThemIsZero) {
  PassFiles files("(float[N, 2] x) => (float[N, 2] y) <float m = {-3.4028235e38}> { y = Mul (x, m) }");
  Result<PassReport> report = convert(whole(files.in()), Precision::kFp16, {}, files.out());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_THAT(report->notes.at(0), HasSubstr("'m' has values that stand for infinity"));
  EXPECT_EQ(files.constant("m_fp16").raw_data(), std::string("\xFF\xFB", 2));  // -65504
}

TEST(Convert, OperatorsWithoutA16BitFormStay) {
  PassFiles files(R"((float[N, 2] x) => (float[N, 2] y, int64[2] s)
    { a = Relu (x)
      c = Cast <to = 7> (a)
      s = Shape (a)
      f = Cast <to = 1> (c)
      y = Add (a, f) })");
  Result<PassReport> report = convert(whole(files.in()), Precision::kFp16, {}, files.out());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->changed_nodes, 2);
  EXPECT_EQ(files.producer("c").input(0), "a");
  EXPECT_EQ(files.producer("a").op_type(), "Cast");
  EXPECT_EQ(files.node("Add_4").input(1), "f_fp16");
}

TEST(Convert, Bf16BringsConvolutionsToAnOpsetThatHasIt) {
  PassFiles files("(float[1, 1, 4] x) => (float[1, 1, 4] y) <float[1, 1, 1] w = {2}> { y = Conv (x, w) }", 17);
  Result<PassReport> report = convert(whole(files.in()), Precision::kBf16, {}, files.out());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->changed_nodes, 1);
  EXPECT_EQ(files.result_model().opset_import(0).version(), 22);
}

TEST(Convert, WeightsAloneAreStoredInHalfAndGivenBack) {
  std::string values = "0.1";
  for (int i = 1; i < 1024; ++i) values += ", 1";
  PassFiles files("(float[N, 32] x) => (float[N, 32] y) <float[32, 32] w = {" + values +
                  "}, float[2] small = {1, 2}> { y = MatMul (x, w) }");
  ConvertOptions options;
  options.weights_only = true;
  Result<PassReport> report = convert(whole(files.in()), Precision::kBf16, options, files.out());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->changed_nodes, 0);
  EXPECT_EQ(files.constant("w_bf16").data_type(), Proto::BFLOAT16);
  EXPECT_EQ(files.producer("w").op_type(), "Cast");
  EXPECT_EQ(files.producer("y").input(1), "w");
}

TEST(Convert, OtherPrecisionsAndModelsWithoutFloatsAreRefused) {
  PassFiles files(kTwoProducts);
  EXPECT_THAT(convert(whole(files.in()), Precision::kInt8, {}, files.out()).error().message, HasSubstr("not int8"));
  PassFiles integers("(int64[2] x) => (int64[2] y) { y = Neg (x) }");
  EXPECT_THAT(convert(whole(integers.in()), Precision::kFp16, {}, integers.out()).error().message,
              HasSubstr("no node can compute in fp16"));
}

}  // namespace
}  // namespace ridge::precision
