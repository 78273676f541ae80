#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cmath>
#include <limits>

#include "precision/quantise.h"
#include "precision/test_pass.h"

namespace ridge::precision {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;

// Two 1x1 convolutions of two channels, the first with a normalisation, and an addition around the second.
const char* const kResidual = R"((float[N, 2, 4, 4] x) => (float[N, 2, 4, 4] y)
  <float[2, 2, 1, 1] w1 = {1, -2, 0.5, 0.25}, float[2] gamma = {2, 1}, float[2] beta = {0, 1}, float[2] mean = {1, 0},
   float[2] variance = {4, 1}, float[2, 2, 1, 1] w2 = {1, 0, 0, 1}, float[2] b2 = {0.5, -0.5},
   float[2, 2, 1, 1] w3 = {1, 0, 0, 1}>
  { c1 = Conv (x, w1)
    n1 = BatchNormalization <epsilon = 0.0> (c1, gamma, beta, mean, variance)
    r1 = Relu (n1)
    c2 = Conv (r1, w2, b2)
    s = Add (c2, r1)
    r2 = Relu (s)
    y = Conv (r2, w3) })";

const TensorRanges kResidualRanges = {
    {"x", {-1, 3}}, {"r1", {0, 5.1}}, {"c2", {-2.55, 2.55}}, {"r2", {0, 2}}, {"y", {0, 2}}};

std::vector<std::string> names(std::initializer_list<const char*> list) { return {list.begin(), list.end()}; }

TEST(QuantiseStatic, AsksForRangesBehindFusedActivationsOnly) {
  PassFiles files(kResidual);
  Result<std::vector<std::string>> tensors = calibration_tensors(whole(files.in()), {});
  ASSERT_TRUE(tensors.ok()) << tensors.error().message;
  EXPECT_EQ(*tensors, names({"c2", "r1", "r2", "x", "y"}));
  EXPECT_EQ(quantisable_nodes(whole(files.in())).value().size(), 3U);
}

TEST(QuantiseStatic, FoldsNormalisationAndQuantisesPerChannel) {
  PassFiles files(kResidual);
  Result<PassReport> report = quantise_static(whole(files.in()), kResidualRanges, {}, files.out());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->changed_nodes, 4);  // three convolutions and the addition
  EXPECT_EQ(files.count("BatchNormalization"), 0);
  // γ/√(σ² + ε) is 1 for both channels: W' = W, b' = {-1, 1}.
  EXPECT_THAT(integers_of(files.constant("w1_folded_quantized")), ElementsAre(64, -127, 127, 64));
  EXPECT_THAT(floats_of(files.constant("w1_folded_scale")), ElementsAre(FloatEq(2.0F / 127), FloatEq(0.5F / 127)));
  EXPECT_THAT(integers_of(files.constant("w1_folded_zero_point")), ElementsAre(0, 0));
}

TEST(QuantiseStatic, BiasHasTheScaleOfTheProducts) {
  PassFiles files(kResidual);
  ASSERT_TRUE(quantise_static(whole(files.in()), kResidualRanges, {}, files.out()).ok());
  // r1 has scale 5.1/255 = 0.02, w2's channels 1/127.
  EXPECT_THAT(floats_of(files.constant("b2_scale")), ElementsAre(FloatEq(0.02F / 127), FloatEq(0.02F / 127)));
  EXPECT_THAT(integers_of(files.constant("b2_quantized")), ElementsAre(3175, -3175));  // 0.5 · 127 / 0.02
}

TEST(QuantiseStatic, EveryConvolutionIsEnclosedAndPairsAreShared) {
  PassFiles files(kResidual);
  ASSERT_TRUE(quantise_static(whole(files.in()), kResidualRanges, {}, files.out()).ok());
  EXPECT_EQ(files.count("QuantizeLinear"), 5);
  EXPECT_EQ(files.producer("c2_quantized").input(0), "c2");
  EXPECT_EQ(files.producer("r1_quantized").input(0), "r1");
  const onnx::NodeProto& add = files.producer("s");
  EXPECT_THAT(std::vector<std::string>(add.input().begin(), add.input().end()),
              ElementsAre("c2_dequantized", "r1_dequantized"));
  EXPECT_EQ(files.producer("c2").input(0), "r1_dequantized");
}

TEST(QuantiseStatic, OutputOfTheModelKeepsItsName) {
  PassFiles files(kResidual);
  ASSERT_TRUE(quantise_static(whole(files.in()), kResidualRanges, {}, files.out()).ok());
  EXPECT_EQ(files.result().output(0).name(), "y");
  EXPECT_EQ(files.producer("y").op_type(), "DequantizeLinear");
  EXPECT_EQ(files.producer("y_quantized").input(0), "y_real");
  EXPECT_EQ(files.producer("y_real").op_type(), "Conv");
}

TEST(QuantiseStatic, ActivationsAreUnsignedOrSymmetric) {
  PassFiles files(kResidual);
  ASSERT_TRUE(quantise_static(whole(files.in()), kResidualRanges, {}, files.out()).ok());
  EXPECT_THAT(floats_of(files.constant("x_scale")), ElementsAre(FloatEq(4.0F / 255)));
  EXPECT_EQ(files.constant("x_zero_point").data_type(), onnx::TensorProto::UINT8);
  EXPECT_THAT(integers_of(files.constant("x_zero_point")), ElementsAre(64));
  PassFiles symmetric(kResidual);
  QuantiseOptions options;
  options.symmetric_activations = true;
  ASSERT_TRUE(quantise_static(whole(symmetric.in()), kResidualRanges, options, symmetric.out()).ok());
  EXPECT_THAT(floats_of(symmetric.constant("x_scale")), ElementsAre(FloatEq(3.0F / 127)));
  EXPECT_EQ(symmetric.constant("x_zero_point").data_type(), onnx::TensorProto::INT8);
}

TEST(QuantiseStatic, NodesToKeepAndNodesWithoutRangesStayInFloatingPoint) {
  PassFiles files(kResidual);
  QuantiseOptions options;
  options.keep_nodes = {"Conv_6"};
  TensorRanges ranges = kResidualRanges;
  ranges.erase("c2");
  Result<PassReport> report = quantise_static(whole(files.in()), ranges, options, files.out());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->changed_nodes, 1);
  EXPECT_EQ(report->kept_nodes, 2);
  EXPECT_THAT(report->notes.at(0), HasSubstr("Conv_3 stays in floating point: calibration gave no range for 'c2'"));
  EXPECT_EQ(files.producer("c2").input(1), "w2");
  EXPECT_EQ(files.producer("y").input(1), "w3");
}

TEST(QuantiseStatic, ValuesThatOnlyMoveKeepTheirScale) {
  PassFiles files(R"((float[1, 2, 4, 4] x) => (float[1, 3] y)
    <float[2, 2, 1, 1] w = {1, 0, 0, 1},
     float[3, 8] f = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8},
     float[3] b = {1, 2, 3}>
    { c = Conv (x, w)
      p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c)
      v = Flatten (p)
      y = Gemm <transB = 1, alpha = 2.0, beta = 0.5> (v, f, b) })");
  EXPECT_EQ(calibration_tensors(whole(files.in()), {}).value(), names({"c", "x"}));
  Result<PassReport> report = quantise_static(whole(files.in()), {{"x", {-1, 1}}, {"c", {-1, 1}}}, {}, files.out());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(files.producer("p_quantized").input(1), "c_scale");
  EXPECT_EQ(files.producer("v_dequantized").input(1), "c_scale");
  // Gemm: per row of the transposed weight; alpha in the weights, beta in the bias; no pair behind it.
  EXPECT_THAT(floats_of(files.constant("f_scale")),
              ElementsAre(FloatEq(16.0F / 127), FloatEq(16.0F / 127), FloatEq(16.0F / 127)));
  const onnx::NodeProto& gemm = files.producer("y");
  EXPECT_EQ(gemm.op_type(), "Gemm");
  for (const auto& attribute : gemm.attribute()) {
    if (attribute.name() != "transB") {
      EXPECT_EQ(attribute.f(), 1) << attribute.name();
    }
  }
  const float scale = 2.0F / 255 * 16 / 127;
  EXPECT_THAT(integers_of(files.constant("b_quantized")),
              ElementsAre(std::lround(0.5F / scale), std::lround(1 / scale), std::lround(1.5F / scale)));
}

// A transformer's pattern: multiplications with weights take integers, their neighbours do not.
TEST(QuantiseStatic, MatrixProductsGiveFloatsToFloats) {
  PassFiles files(R"((float[N, M, 2] x) => (float[N, M, 2] y)
    <float[2, 2] w = {1, 0.5, -2, 0.25}, float[2] b = {1, 1}>
    { m = MatMul (x, w)
      a = Add (m, b)
      s = Softmax (a)
      y = Add (s, x) })");
  EXPECT_EQ(calibration_tensors(whole(files.in()), {}).value(), names({"x"}));
  ASSERT_TRUE(quantise_static(whole(files.in()), {{"x", {-1, 1}}}, {}, files.out()).ok());
  EXPECT_EQ(files.count("QuantizeLinear"), 1);
  EXPECT_EQ(files.count("DequantizeLinear"), 2);
  EXPECT_EQ(files.producer("m").input(0), "x_dequantized");
  EXPECT_EQ(files.producer("y").input(1), "x");                                             // in full precision
  EXPECT_THAT(integers_of(files.constant("w_quantized")), ElementsAre(64, 127, -127, 64));  // columns
}

// ONNX Runtime would fuse it into a Gemm too late.
TEST(QuantiseStatic, BiasOfAMatrixProductBecomesPartOfIt) {
  PassFiles files(R"((float[N, 4, 2] x) => (float[N, 4, 2] y, float[N, 4, 2] z)
    <float[2, 2] w = {1, 0.5, -2, 0.25}, float[1, 1, 2] b = {1, 1}>
    { m = MatMul (x, w)
      y = Add (b, m)
      n = MatMul (x, w)
      z = Add (n, b) })");
  EXPECT_EQ(calibration_tensors(whole(files.in()), {}).value(), names({"x"}));
  Result<PassReport> report = quantise_static(whole(files.in()), {{"x", {-1, 1}}}, {}, files.out());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(files.count("Add"), 0);
  EXPECT_EQ(files.count("Gemm"), 2);
  EXPECT_EQ(files.count("Reshape"), 3);  // one before both
  EXPECT_EQ(files.count("QuantizeLinear"), 1);
  EXPECT_EQ(files.producer("y").op_type(), "Reshape");
  EXPECT_EQ(files.node("MatMul_0").input(0), "x_matrix_dequantized");
  EXPECT_THAT(floats_of(files.constant("x_scale")), ElementsAre(FloatEq(2.0F / 255)));
}

TEST(QuantiseStatic, ProductsOfActivationsOnlyWhenAskedFor) {
  const char* const body = "(float[2, 2] x, float[2, 2] z) => (float[2, 2] y) { y = MatMul (x, z) }";
  PassFiles files(body);
  EXPECT_TRUE(quantisable_nodes(whole(files.in())).value().empty());
  QuantiseOptions options;
  options.activation_products = true;
  ASSERT_TRUE(quantise_static(whole(files.in()), {{"x", {-1, 1}}, {"z", {0, 1}}}, options, files.out()).ok());
  EXPECT_EQ(files.count("QuantizeLinear"), 2);
}

TEST(QuantiseStatic, ImpossibleRangesAreRefused) {
  PassFiles files(kResidual);
  TensorRanges ranges = kResidualRanges;
  ranges["x"] = {2, 1};
  EXPECT_THAT(quantise_static(whole(files.in()), ranges, {}, files.out()).error().message, HasSubstr("tensor 'x'"));
  ranges["x"] = {0, std::numeric_limits<double>::infinity()};
  EXPECT_FALSE(quantise_static(whole(files.in()), ranges, {}, files.out()).ok());
  EXPECT_THAT(quantise_static(whole(files.in()), {}, {}, files.out()).error().message, HasSubstr("left to quantise"));
}

TEST(QuantiseStatic, OldModelsAreBroughtToAnOpsetWithScalesPerChannel) {
  PassFiles files("(float[1, 1, 4] x) => (float[1, 1, 4] y) <float[1, 1, 1] w = {2}> { y = Conv (x, w) }", 11);
  Result<PassReport> report = quantise_static(whole(files.in()), {{"x", {-1, 1}}, {"y", {-2, 2}}}, {}, files.out());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(files.result_model().opset_import(0).version(), 13);
}

TEST(ExposeTensors, AddsOutputsOnceWithTheirTypes) {
  PassFiles files(kResidual);
  const Status exposed = expose_tensors(whole(files.in()), {"r1", "y", "c2"}, files.out());
  ASSERT_TRUE(exposed.ok()) << exposed.error().message;
  ASSERT_EQ(files.result().output_size(), 3);
  EXPECT_EQ(files.result().output(1).name(), "r1");
  EXPECT_EQ(files.result().output(1).type().tensor_type().elem_type(), onnx::TensorProto::FLOAT);
  EXPECT_THAT(expose_tensors(whole(files.in()), {"none"}, files.out()).error().message, HasSubstr("no tensor 'none'"));
}

TEST(ExposeTensors, TakesATensorWhoseRankOnlyTheDataDecide) {
  PassFiles files("(float[2, 3] x, int64[n] s) => (int64[m] y) { z = Reshape (x, s) \n y = Shape (z) }");
  const Status exposed = expose_tensors(whole(files.in()), {"z"}, files.out());
  EXPECT_TRUE(exposed.ok()) << exposed.error().message;
}

}  // namespace
}  // namespace ridge::precision
