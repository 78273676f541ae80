#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "precision/quantise.h"
#include "precision/test_pass.h"

namespace ridge::precision {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;

const char* const kProducts = R"((float[N, 2] x) => (float[N, 2] y, float[N, 2] z)
  <float[2, 2] w = {1, 0.5, -2, 0.25}, float[2] b = {1, 1}>
  { y = MatMul (x, w)
    z = Gemm <transB = 1, alpha = 0.5, beta = 2.0> (x, w, b) })";

TEST(QuantiseDynamic, ProductsShareTheQuantisedActivation) {
  PassFiles files(kProducts);
  Result<PassReport> report = quantise_dynamic(whole(files.in()), {}, files.out());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->changed_nodes, 2);
  EXPECT_EQ(files.count("DynamicQuantizeLinear"), 1);
  EXPECT_EQ(files.count("MatMulInteger"), 2);
  const onnx::NodeProto& product = files.node("MatMul_0");
  EXPECT_EQ(product.op_type(), "Mul");
  EXPECT_EQ(product.output(0), "y");
  EXPECT_THAT(integers_of(files.constant("w_quantized")), ElementsAre(64, 127, -127, 64));
}

TEST(QuantiseDynamic, GemmBecomesProductAndSum) {
  PassFiles files(kProducts);
  ASSERT_TRUE(quantise_dynamic(whole(files.in()), {}, files.out()).ok());
  const onnx::NodeProto& sum = files.node("Gemm_1");
  EXPECT_EQ(sum.op_type(), "Add");
  EXPECT_THAT(floats_of(files.constant(sum.input(1))), ElementsAre(2, 2));  // beta in the bias
  // Transposed, halved by alpha: columns 0.5, 0.25 and -1, 0.125.
  EXPECT_THAT(integers_of(files.constant("w_quantized_1")), ElementsAre(127, -127, 64, 16));
  EXPECT_THAT(floats_of(files.constant("w_scale_1")), ElementsAre(FloatEq(0.5F / 127), FloatEq(1.0F / 127)));
}

TEST(QuantiseDynamic, NothingToQuantiseIsAnError) {
  PassFiles files(kProducts);
  QuantiseOptions options;
  options.keep_nodes = {"MatMul_0", "Gemm_1"};
  EXPECT_THAT(quantise_dynamic(whole(files.in()), options, files.out()).error().message, HasSubstr("left to quantise"));
}

TEST(QuantiseWeights, FourBitsArePackedForMatMulNBits) {
  std::string values;  // [16, 1]: 0 … 14, -16
  for (int i = 0; i < 15; ++i) values += std::to_string(i) + ", ";
  PassFiles files("(float[N, 16] x) => (float[N, 1] y) <float[16, 1] w = {" + values + "-16}> { y = MatMul (x, w) }");
  Result<PassReport> report = quantise_weights(whole(files.in()), 4, 16, {}, files.out());
  ASSERT_TRUE(report.ok()) << report.error().message;
  const onnx::NodeProto& node = files.node("MatMul_0");
  EXPECT_EQ(node.domain(), "com.microsoft");
  EXPECT_THAT(floats_of(files.constant("w_scale")), ElementsAre(2));  // -16 / -8
  // 0, 1, 2, … / 2 + 8, ties to even: 8, 8, 9, 10, 10, 10, 11, 12, 12, …
  EXPECT_THAT(integers_of(files.constant("w_quantized")), ElementsAre(0x88, 0xA9, 0xAA, 0xCB, 0xCC, 0xED, 0xEE, 0x0F));
}

TEST(QuantiseWeights, BlocksForAnyEngine) {
  PassFiles files("(float[N, 1] x) => (float[N, 2] y) <float[1, 2] w = {-8, 4}> { y = Gemm (x, w) }");
  QuantiseOptions options;
  options.weight_nodes = WeightNodes::kDequantize;
  Result<PassReport> report = quantise_weights(whole(files.in()), 4, 16, options, files.out());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(files.result_model().opset_import(0).version(), 21);
  EXPECT_EQ(files.constant("w_quantized").raw_data(), std::string(1, '\0'));
  EXPECT_EQ(files.constant("w_quantized").data_type(), onnx::TensorProto::UINT4);
  EXPECT_THAT(floats_of(files.constant("w_scale")), ElementsAre(1, FloatEq(-0.5F)));
  EXPECT_EQ(files.producer("y").input(1), "w_dequantized");
}

TEST(QuantiseWeights, OtherSizesAreRefused) {
  PassFiles files(kProducts);
  EXPECT_THAT(quantise_weights(whole(files.in()), 5, 32, {}, files.out()).error().message, HasSubstr("4 or 8"));
  EXPECT_THAT(quantise_weights(whole(files.in()), 4, 48, {}, files.out()).error().message, HasSubstr("blocks of 48"));
}

}  // namespace
}  // namespace ridge::precision
