#include <gtest/gtest.h>

#include "cost/einsum.h"
#include "cost/test_graph.h"

namespace ridge::cost::testing {
namespace {

TEST(Product, OfMatricesIsMTimesNTimesK) {
  NodeCost c = cost("MatMul", {tensor({2, 5}), weight({5, 3})}, {tensor({2, 3})});
  EXPECT_DOUBLE_EQ(c.macs, 2 * 3 * 5);
  EXPECT_DOUBLE_EQ(c.flops, 60);
  EXPECT_DOUBLE_EQ(c.needed_flops, 60);
  EXPECT_DOUBLE_EQ(c.bytes_read, 4 * (10 + 15));
  EXPECT_EQ(c.parameters, 15);
  EXPECT_DOUBLE_EQ(c.intensity(), 60.0 / (4 * (10 + 15 + 6)));
}

TEST(Product, BroadcastsBatchesAndTakesVectors) {
  EXPECT_DOUBLE_EQ(cost("MatMul", {tensor({4, 1, 2, 5}), tensor({6, 5, 3})}, {tensor({4, 6, 2, 3})}).macs, 24 * 30);
  EXPECT_DOUBLE_EQ(cost("MatMul", {tensor({5}), tensor({5, 3})}, {tensor({3})}).macs, 15);
  EXPECT_DOUBLE_EQ(cost("MatMul", {tensor({5}), tensor({5})}, {tensor({})}).macs, 5);
}

TEST(Product, GemmCountsBiasAndScaling) {
  std::vector<Operand> inputs = {tensor({2, 5}), weight({3, 5}), weight({3})};
  EXPECT_DOUBLE_EQ(cost("Gemm", inputs, {tensor({2, 3})}, {{"transB", int64_t{1}}}).flops, 60 + 6);
  Attributes scaled = {{"transB", int64_t{1}}, {"alpha", 0.5}, {"beta", 2.0}};
  EXPECT_DOUBLE_EQ(cost("Gemm", inputs, {tensor({2, 3})}, scaled).flops, 60 + 6 + 6 + 3);
  EXPECT_DOUBLE_EQ(cost("Gemm", {tensor({5, 2}), weight({5, 3})}, {tensor({2, 3})}, {{"transA", int64_t{1}}}).macs, 30);
}

TEST(Product, OfIntegersComputesInInt8) {
  Operand a = tensor({2, 5}, DataType::kUint8), b = weight({5, 3}, DataType::kInt8);
  NodeCost c = cost("MatMulInteger", {a, b}, {tensor({2, 3}, DataType::kInt32)});
  EXPECT_EQ(c.precision, Precision::kInt8);
  EXPECT_DOUBLE_EQ(c.macs, 30);
  EXPECT_DOUBLE_EQ(c.bytes_read, 25);
  NodeCost q = cost("QLinearMatMul",
                    {a, weight({}), weight({}, DataType::kUint8), b, weight({}), weight({}, DataType::kInt8),
                     weight({}), weight({}, DataType::kUint8)},
                    {tensor({2, 3}, DataType::kUint8)});
  EXPECT_DOUBLE_EQ(q.flops, 60 + 3 * 6);
}

TEST(Product, FusedFormsOfOnnxRuntime) {
  Attributes transposed = {{"transA", int64_t{1}}, {"alpha", 0.125}};
  EXPECT_DOUBLE_EQ(
      cost("FusedMatMul", {tensor({7, 5, 2}), tensor({7, 5, 3})}, {tensor({7, 2, 3})}, transposed, "com.microsoft")
          .flops,
      7 * (60 + 6));
  Attributes relu = {{"activation", std::string("Relu")}};
  EXPECT_DOUBLE_EQ(
      cost("FusedGemm", {tensor({2, 5}), weight({5, 3}), weight({3})}, {tensor({2, 3})}, relu, "com.microsoft").flops,
      60 + 6 + 6);
  NodeCost dynamic = cost("DynamicQuantizeMatMul", {tensor({2, 5}), weight({5, 3}, DataType::kInt8), weight({})},
                          {tensor({2, 3})}, {}, "com.microsoft");
  EXPECT_EQ(dynamic.precision, Precision::kInt8);
  EXPECT_DOUBLE_EQ(dynamic.flops, 60 + 5 * 10 + 6);  // quantise A, scale the result
  // 4 bits: K = 64, N = 3 in blocks of 32 → 16 bytes per block; the weights are expanded: 2 per element.
  Attributes bits = {{"K", int64_t{64}}, {"N", int64_t{3}}, {"bits", int64_t{4}}, {"block_size", int64_t{32}}};
  NodeCost packed = cost("MatMulNBits", {tensor({2, 64}), weight({3, 2, 16}, DataType::kUint8), weight({6})},
                         {tensor({2, 3})}, bits, "com.microsoft");
  EXPECT_DOUBLE_EQ(packed.macs, 2 * 3 * 64);
  EXPECT_DOUBLE_EQ(packed.flops, 2 * packed.macs + 2 * 64 * 3);
  EXPECT_DOUBLE_EQ(packed.weight_bytes, 96 + 24);
  EXPECT_EQ(packed.parameters, 64 * 3);
  // A row of 40 values takes two blocks of 32.
  bits["K"] = int64_t{40};
  EXPECT_EQ(cost("MatMulNBits", {tensor({2, 40}), weight({3, 2, 16}, DataType::kUint8), weight({6})}, {tensor({2, 3})},
                 bits, "com.microsoft")
                .parameters,
            40 * 3);
  EXPECT_EQ(
      cost("GatherBlockQuantized", {weight({10, 16}, DataType::kUint8), tensor({2}, DataType::kInt64), weight({10, 1})},
           {tensor({2, 32})}, {{"block_size", int64_t{32}}}, "com.microsoft")
          .parameters,
      10 * 32);
  EXPECT_EQ(cost("QMoE", {tensor({2, 8}), tensor({2, 4}), weight({4, 16, 4}, DataType::kUint8)}, {tensor({2, 8})},
                 {{"expert_weight_bits", int64_t{4}}}, "com.microsoft")
                .parameters,
            4 * 16 * 8);
}

double einsum_macs(const char* equation, std::vector<Shape> shapes) { return einsum_work(equation, shapes).macs; }

TEST(Einsum, ContractsOverSharedLabels) {
  EXPECT_DOUBLE_EQ(einsum_macs("ij,jk->ik", {{2, 5}, {5, 3}}), 30);
  EXPECT_DOUBLE_EQ(einsum_macs("bhqd, bhkd -> bhqk", {{2, 3, 4, 5}, {2, 3, 6, 5}}), 2 * 3 * 4 * 6 * 5);
  EXPECT_DOUBLE_EQ(einsum_macs("...ij,...jk->...ik", {{7, 2, 5}, {7, 5, 3}}), 7 * 30);
  EXPECT_DOUBLE_EQ(einsum_macs("ij,jk", {{2, 5}, {5, 3}}), 30);
  NodeCost c =
      cost("Einsum", {tensor({2, 5}), tensor({5, 3})}, {tensor({2, 3})}, {{"equation", std::string("ij,jk->ik")}});
  EXPECT_DOUBLE_EQ(c.flops, 60);
  EXPECT_DOUBLE_EQ(c.needed_flops, 60);
}

TEST(Einsum, WithoutContractionMultipliesOrAdds) {
  std::vector<Shape> outer = {{2}, {3}}, single = {{2, 5}}, transposed = {{2, 5}};
  EXPECT_DOUBLE_EQ(einsum_work("i,j->ij", outer).macs, 0);
  EXPECT_DOUBLE_EQ(einsum_work("i,j->ij", outer).other_flops, 6);
  EXPECT_DOUBLE_EQ(einsum_work("ij->i", single).other_flops, 10);
  EXPECT_DOUBLE_EQ(einsum_work("ij->ji", transposed).other_flops, 0);
}

TEST(Einsum, SumsOverOneOperandBeforeTheProduct) {
  std::vector<Shape> shapes = {{2, 5, 9}, {5, 3}};  // l occurs once: summed first, 90 additions
  EinsumWork work = einsum_work("ijl,jk->ik", shapes);
  EXPECT_DOUBLE_EQ(work.macs, 30);
  EXPECT_DOUBLE_EQ(work.other_flops, 90);
}

TEST(Einsum, ContractsThreeOperandsFromLeftToRight) {
  std::vector<Shape> shapes = {{2, 3}, {3, 4}, {4, 5}};
  EXPECT_DOUBLE_EQ(einsum_work("ij,jk,kl->il", shapes).macs, 2 * 3 * 4 + 2 * 4 * 5);
}

TEST(Einsum, RefusesAnEquationThatDoesNotFit) {
  std::vector<Shape> one = {{2, 5}};
  for (const char* equation : {"ij,jk->ik", "ijk->i", "i->i", "", "ij->z", "....ij->i"})
    EXPECT_FALSE(einsum_work(equation, one).valid) << equation;
}

}  // namespace
}  // namespace ridge::cost::testing
